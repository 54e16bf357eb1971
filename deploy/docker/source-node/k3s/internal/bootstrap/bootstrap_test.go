package bootstrap

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestPlan(t *testing.T) {
	store := contents{"tls/a": {Content: []byte("kept"), Modified: 100}}
	for name, test := range map[string]struct {
		disk    contents
		restore []string
		refused bool
	}{
		"equal stays, however new":         {contents{"tls/a": {[]byte("kept"), 900}}, nil, false},
		"absent is restored":               {contents{}, []string{"tls/a"}, false},
		"older is overwritten":             {contents{"tls/a": {[]byte("other"), 50}}, []string{"tls/a"}, false},
		"a little newer is overwritten":    {contents{"tls/a": {[]byte("other"), 102}}, []string{"tls/a"}, false},
		"newer is refused":                 {contents{"tls/a": {[]byte("other"), 103}}, nil, true},
		"files of the disk alone are left": {contents{"tls/a": {[]byte("kept"), 1}, "tls/b": {}}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			restore, err := plan(test.disk, store)
			if (err != nil) != test.refused || !slices.Equal(restore, test.restore) {
				t.Errorf("got %v %v", restore, err)
			}
			if err != nil && !strings.Contains(err.Error(), "tls/a newer than datastore and could cause") {
				t.Errorf("not k3s's words: %v", err)
			}
		})
	}
}

func TestSealedDataNeedsItsToken(t *testing.T) {
	sealed, err := encrypt("right", contents{"x": {Content: []byte("y"), Modified: 7}})
	if err != nil {
		t.Fatal(err)
	}
	opened, err := decrypt("right", sealed)
	if err != nil || string(opened["x"].Content) != "y" || opened["x"].Modified != 7 {
		t.Errorf("%v %v", opened, err)
	}
	for _, bad := range [][]byte{nil, sealed[:20], append(slices.Clone(sealed), 0)} {
		if _, err := decrypt("right", bad); err == nil {
			t.Error("damaged data was opened")
		}
	}
	if _, err := decrypt("wrong", sealed); err == nil {
		t.Error("another token opened it")
	}
}

func TestStorageKeyHidesTheToken(t *testing.T) {
	if key := storageKey("secret"); key == storageKey("other") || strings.Contains(key, "secret") {
		t.Errorf("%q", key)
	}
}

func TestRestoreBringsAnEmptyFolderBack(t *testing.T) {
	source, empty := t.TempDir(), t.TempDir()
	for _, path := range keptPaths {
		full := filepath.Join(source, path)
		if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(path), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := read(source)
	if err != nil {
		t.Fatal(err)
	}
	if err := restore(empty, kept); err != nil {
		t.Fatal(err)
	}
	back, err := read(empty)
	if err != nil || len(back) != len(keptPaths) {
		t.Fatalf("%v %v", back, err)
	}
	for path, file := range back {
		if string(file.Content) != path || file.Modified != kept[path].Modified {
			t.Errorf("%s: %+v", path, file)
		}
	}
}
