// Command k3s is the node's command line: `k3s server`, and the clients that k3s links into itself.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	"openshell.ai/source-node/k3s/internal/images"
	"openshell.ai/source-node/k3s/internal/layout"
	"openshell.ai/source-node/k3s/internal/options"
	"openshell.ai/source-node/k3s/internal/supervisor"
	"openshell.ai/source-node/k3s/internal/version"
)

const usage = `k3s: a Kubernetes node made from sources

usage: k3s [--version] server [flags] | kubectl … | ctr … | containerd …
`

func main() {
	name, args := filepath.Base(os.Args[0]), os.Args[1:]
	if name == "k3s" || name == "exe" {
		if len(args) == 0 {
			fmt.Fprint(os.Stderr, usage)
			os.Exit(1)
		}
		name, args = args[0], args[1:]
	}
	if err := run(name, args); err != nil {
		fmt.Fprintf(os.Stderr, "k3s: %v\n", err)
		os.Exit(1)
	}
}

func run(name string, args []string) error {
	switch name {
	case "server", "k3s-server":
		return server(args)
	case "kubectl":
		runKubectl(args)
	case "ctr", "containerd":
		return become(name, args)
	case "--version", "-v", "version":
		fmt.Print(version.Text())
	case "help", "--help", "-h":
		fmt.Print(usage)
	case "agent", "k3s-agent":
		return errors.New("agent mode is not part of this node image: run `k3s server`")
	default:
		return fmt.Errorf("no command is called %q", name)
	}
	return nil
}

func server(args []string) error {
	given, err := options.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Print(usage)
		return nil
	}
	if err != nil {
		return fmt.Errorf("incorrect usage: %w", err)
	}
	return supervisor.Main(given)
}

// runKubectl is kubectl with the node's kubeconfig as its default.
func runKubectl(args []string) {
	if os.Getenv("KUBECONFIG") == "" {
		_ = os.Setenv("KUBECONFIG", layout.Kubeconfig)
	}
	os.Args = append([]string{"kubectl"}, args...)
	os.Exit(cli.Run(kubectl.NewDefaultKubectlCommand()))
}

// become replaces this process by one of containerd's own programs.
func become(name string, args []string) error {
	path := filepath.Join(layout.Libexec, name)
	return syscall.Exec(path, append([]string{name}, args...), images.CtrEnvironment())
}
