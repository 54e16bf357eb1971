package images

import (
	"os"
	"path/filepath"
	"testing"
)

func TestIsArchive(t *testing.T) {
	for name, want := range map[string]bool{
		"a.tar": true, "a.tar.gz": true, "a.tgz": true, "a.tar.zst": true, "a.tzst": true,
		"a.txt": false, ".a.tar": false, "a.tar.bz2": false, ".cache.json": false,
	} {
		if got := isArchive(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestCache(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".cache.json")
	if _, cached := readCache(path); cached {
		t.Error("there is no cache yet")
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if known, cached := readCache(path); !cached || len(known) != 0 {
		t.Errorf("a touched file: %v %v", known, cached)
	}
	if err := writeCache(path, map[string]stamp{"a.tar": {Size: 1, Modified: 2}}); err != nil {
		t.Fatal(err)
	}
	if known, _ := readCache(path); known["a.tar"] != (stamp{Size: 1, Modified: 2}) {
		t.Errorf("%v", known)
	}
}

func TestAnAbsentFolderIsNoError(t *testing.T) {
	if err := importFolder(filepath.Join(t.TempDir(), "absent"), "unused", true); err != nil {
		t.Error(err)
	}
}
