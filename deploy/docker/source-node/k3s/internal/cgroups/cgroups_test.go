package cgroups

import (
	"os"
	"path/filepath"
	"testing"
)

func TestEvacuate(t *testing.T) {
	root := t.TempDir()
	if err := Evacuate(root); err != nil {
		t.Fatalf("cgroup v1: %v", err)
	}
	if _, err := os.Stat(filepath.Join(root, "init")); err == nil {
		t.Fatal("cgroup v1: a group was made")
	}
	for name, content := range map[string]string{
		"cgroup.controllers": "cpuset cpu memory pids\n", "cgroup.procs": "1\n", "cgroup.subtree_control": "",
	} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// The kernel makes this file with the group; a plain folder does not.
	if err := os.MkdirAll(filepath.Join(root, "init"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "init", "cgroup.procs"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Evacuate(root); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"init/cgroup.procs": "1", "cgroup.subtree_control": "+cpuset +cpu +memory +pids",
	} {
		if got, _ := os.ReadFile(filepath.Join(root, name)); string(got) != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
