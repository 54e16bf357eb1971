"""Operations on sandboxes: what a pod needs to keep its work, and who may change it when."""
