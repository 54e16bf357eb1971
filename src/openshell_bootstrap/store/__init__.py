"""What is kept on the host's disk: records, kubeconfigs, the active gateway, locks, journals.

All of it can be rebuilt from the engine, the cluster and the data volume, but for evidence of what
failed and pods that were saved; nothing here decides.
Files are written by rename and read as if anybody could have written them.
"""
