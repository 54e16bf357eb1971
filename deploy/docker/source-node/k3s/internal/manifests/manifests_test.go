package manifests

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestList(t *testing.T) {
	root := folder(t, map[string]string{
		"a.yaml": "", "b.yml": "", "sub/c.json": "", "d.txt": "", ".e.yaml": "", "f.yaml": "", "f.yaml.skip": "",
	})
	found, err := list(root)
	if err != nil {
		t.Fatal(err)
	}
	for index := range found {
		found[index], _ = filepath.Rel(root, found[index])
	}
	if got := strings.Join(found, " "); got != "a.yaml b.yml sub/c.json" {
		t.Errorf("%s", got)
	}
	if found, err := list(filepath.Join(root, "absent")); len(found) != 0 || err != nil {
		t.Errorf("%v %v", found, err)
	}
}

func TestDecode(t *testing.T) {
	objects, err := decode([]byte("---\n# nothing\n---\napiVersion: v1\nkind: List\nitems:\n" +
		"- {apiVersion: v1, kind: Secret, metadata: {name: a}}\n" +
		"---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n"))
	if err != nil || len(objects) != 2 || objects[0].GetName() != "a" || objects[1].GetName() != "b" {
		t.Fatalf("%v %v", objects, err)
	}
	for _, bad := range []string{"a: [", "kind: ConfigMap\n", "just text"} {
		if _, err := decode([]byte(bad)); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestChanged(t *testing.T) {
	path := filepath.Join(folder(t, map[string]string{"a.yaml": "one"}), "a.yaml")
	last := map[string]time.Time{}
	look := func() bool {
		_, now, must, err := changed(path, last)
		if err != nil {
			t.Fatal(err)
		}
		last[path] = now
		return must
	}
	touch := func(minutes int) {
		when := time.Now().Add(time.Duration(minutes) * time.Minute)
		if err := os.Chtimes(path, when, when); err != nil {
			t.Fatal(err)
		}
	}
	if !look() {
		t.Error("a new file was left out")
	}
	if look() {
		t.Error("an unchanged file was read again")
	}
	touch(1)
	if !look() {
		t.Error("a touched file was not looked at")
	}
}

func TestBundledManifestsAreWhole(t *testing.T) {
	variables := Variables{"CLUSTER_DNS": "10.43.0.10", "CLUSTER_DOMAIN": "c", "DEFAULT_LOCAL_STORAGE_PATH": "/s"}
	for _, name := range Bundled() {
		content := render(name, variables)
		if strings.Contains(string(content), "%{") {
			t.Errorf("%s has a variable that nobody sets", name)
		}
		if objects, err := decode(content); err != nil || len(objects) == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestStage(t *testing.T) {
	root := folder(t, map[string]string{"coredns.yaml": "edited", "mine.yaml": "mine"})
	if err := Stage(root, map[string]bool{"local-storage": true}, Variables{}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(root, "coredns.yaml"))
	if err != nil || info.Mode().Perm() != 0o600 || info.Size() < 100 {
		t.Errorf("not rewritten: %v %v", info, err)
	}
	if _, err := os.Stat(filepath.Join(root, "local-storage.yaml")); err == nil {
		t.Error("a disabled file is there")
	}
	if content, _ := os.ReadFile(filepath.Join(root, "mine.yaml")); string(content) != "mine" {
		t.Error("a user's file was touched")
	}
}
