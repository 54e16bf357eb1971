// Package components holds the command line and the configuration of every component, derived from
// the settings alone. Nothing in it runs or writes anything.
package components

import (
	"net"
	"path/filepath"
	"strings"

	"openshell.ai/source-node/k3s/internal/layout"
	"openshell.ai/source-node/k3s/internal/options"
)

// Settings is everything that command lines depend on.
type Settings struct {
	Options     *options.Server
	At          layout.Layout
	NodeName    string
	NodeAddress net.IP
	ClusterDNS  net.IP
	ResolvConf  string
}

// Command is a component's name, program and arguments.
type Command struct {
	Name string
	Path string
	Args []string
	Dir  string
}

func kube(name string, args []string) Command {
	return Command{Name: name, Path: filepath.Join(layout.Libexec, name), Args: args}
}

// argument is one default: a flag name and its value.
type argument struct{ name, value string }

// merged renders the defaults, in order, and then the user's own arguments (`name=value`), which
// replace a default of the same name. A name that is given several times is passed as often.
func merged(defaults []argument, given []string) []string {
	byName := map[string][]string{}
	var order []string
	for _, text := range given {
		name, value, _ := strings.Cut(strings.TrimLeft(text, "-"), "=")
		if _, known := byName[name]; !known {
			order = append(order, name)
		}
		byName[name] = append(byName[name], value)
	}
	var out []string
	for _, each := range defaults {
		if _, replaced := byName[each.name]; !replaced {
			out = append(out, "--"+each.name+"="+each.value)
		}
	}
	for _, name := range order {
		for _, value := range byName[name] {
			out = append(out, "--"+name+"="+value)
		}
	}
	return out
}

// KubeconfigPath returns the kubeconfig of a control-plane component.
func (s Settings) KubeconfigPath(component string) string {
	return filepath.Join(s.At.Cred(), component+".kubeconfig")
}

// AgentKubeconfigPath returns the kubeconfig of a node agent.
func (s Settings) AgentKubeconfigPath(component string) string {
	return filepath.Join(s.At.Agent(), component+".kubeconfig")
}

func (s Settings) tls(name string) string { return filepath.Join(s.At.TLS(), name) }
