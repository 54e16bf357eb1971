from openshell_bootstrap.store.lock import lock_name


def test_names_are_of_engine_and_gateway():
    names = {
        lock_name(engine, gateway)
        for engine in ("e1", "e2")
        for gateway in ("t1", "T1", "t-1", "t.1", "a" * 300, "a" * 301)
    }
    assert len(names) == 12
    assert all(len(name) < 80 and "/" not in name for name in names)
    assert lock_name("ID:with/slash", "..").startswith("-")
