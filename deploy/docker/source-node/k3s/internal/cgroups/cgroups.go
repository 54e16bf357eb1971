// Package cgroups prepares a cgroup v2 tree for pods, as k3s does when it is a container's first
// process.
package cgroups

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Evacuate moves every process of the root cgroup into its child `init` and gives the root's
// controllers to its children: a cgroup with processes of its own can hand none down. On cgroup v1
// there is nothing to do.
func Evacuate(root string) error {
	available, err := os.ReadFile(filepath.Join(root, "cgroup.controllers"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	child := filepath.Join(root, "init")
	if err := os.MkdirAll(child, 0o755); err != nil {
		return err
	}
	processes, err := os.ReadFile(filepath.Join(root, "cgroup.procs"))
	if err != nil {
		return err
	}
	for _, pid := range strings.Fields(string(processes)) {
		err := os.WriteFile(filepath.Join(child, "cgroup.procs"), []byte(pid), 0)
		if err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("failed to move process %s out of the root cgroup: %w", pid, err)
		}
	}
	control := "+" + strings.Join(strings.Fields(string(available)), " +")
	return os.WriteFile(filepath.Join(root, "cgroup.subtree_control"), []byte(control), 0)
}
