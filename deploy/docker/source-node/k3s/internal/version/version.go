// Package version tells which k3s this node says it is.
package version

import (
	"fmt"
	"runtime"

	component "k8s.io/component-base/version"
)

// Version returns the version and the commit as k3s prints them: `v1.36.3+k3s1 (0123abcd)`. Both
// are stamped at link time, into the same variables that Kubernetes reports.
func Version() string {
	info := component.Get()
	commit := info.GitCommit
	if len(commit) > 8 {
		commit = commit[:8]
	}
	return fmt.Sprintf("%s (%s)", info.GitVersion, commit)
}

// Text returns what `k3s --version` prints.
func Text() string {
	return fmt.Sprintf("k3s version %s\ngo version %s\n", Version(), runtime.Version())
}
