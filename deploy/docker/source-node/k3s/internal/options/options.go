// Package options reads the command line of `k3s server` as k3s reads it: flags, the environment
// and the configuration files. It touches nothing but those files.
package options

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

// Server holds what `k3s server` was told. The zero value of a field means "k3s's default".
type Server struct {
	DataDir             string
	NodeName            string
	NodeIP              string
	Token               string
	TokenFile           string
	TLSSANs             []string
	Disable             []string
	NodeLabels          []string
	NodeTaints          []string
	KubeletArgs         []string
	APIServerArgs       []string
	ControllerArgs      []string
	SchedulerArgs       []string
	ProxyArgs           []string
	ResolvConf          string
	KubeconfigMode      string
	KubeconfigOutput    string
	ClusterCIDR         string
	ServiceCIDR         string
	ClusterDNS          string
	ClusterDomain       string
	DefaultStoragePath  string
	WithNodeID          bool
	NoDefaultRegistries bool
	Debug               bool
}

// list collects a flag that may be given several times; commas separate values where split is set.
type list struct {
	values *[]string
	split  bool
}

func (l list) String() string { return "" }

func (l list) Set(value string) error {
	if !l.split {
		*l.values = append(*l.values, value)
		return nil
	}
	for _, part := range strings.Split(value, ",") {
		if part = strings.TrimSpace(part); part != "" {
			*l.values = append(*l.values, part)
		}
	}
	return nil
}

// nothingToDo are k3s flags that ask for the absence of a part which this node never has, so
// accepting them changes nothing and is true.
var nothingToDo = []string{
	"disable-network-policy", "disable-helm-controller", "disable-kube-proxy-lb",
}

func (s *Server) flags() *flag.FlagSet {
	set := flag.NewFlagSet("k3s server", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	s.textFlags(set)
	s.listFlags(set)
	set.BoolVar(&s.WithNodeID, "with-node-id", false, "append the node's id to its name")
	set.BoolVar(&s.NoDefaultRegistries, "disable-default-registry-endpoint", false, "mirrors only")
	set.BoolVar(&s.Debug, "debug", false, "log more")
	for _, name := range nothingToDo {
		set.Bool(name, false, "accepted: this node has no such part")
	}
	return set
}

func (s *Server) textFlags(set *flag.FlagSet) {
	text := func(target *string, name, value string) { set.StringVar(target, name, value, "") }
	text(&s.DataDir, "data-dir", "/var/lib/rancher/k3s")
	set.StringVar(&s.DataDir, "d", s.DataDir, "")
	text(&s.NodeName, "node-name", os.Getenv("K3S_NODE_NAME"))
	text(&s.NodeIP, "node-ip", "")
	text(&s.Token, "token", os.Getenv("K3S_TOKEN"))
	set.StringVar(&s.Token, "t", s.Token, "")
	text(&s.TokenFile, "token-file", os.Getenv("K3S_TOKEN_FILE"))
	text(&s.ResolvConf, "resolv-conf", os.Getenv("K3S_RESOLV_CONF"))
	text(&s.KubeconfigMode, "write-kubeconfig-mode", os.Getenv("K3S_KUBECONFIG_MODE"))
	text(&s.KubeconfigOutput, "write-kubeconfig", os.Getenv("K3S_KUBECONFIG_OUTPUT"))
	text(&s.ClusterCIDR, "cluster-cidr", "10.42.0.0/16")
	text(&s.ServiceCIDR, "service-cidr", "10.43.0.0/16")
	text(&s.ClusterDNS, "cluster-dns", "")
	text(&s.ClusterDomain, "cluster-domain", "cluster.local")
	text(&s.DefaultStoragePath, "default-local-storage-path", "")
}

func (s *Server) listFlags(set *flag.FlagSet) {
	many := func(target *[]string, name string, split bool) { set.Var(list{target, split}, name, "") }
	many(&s.TLSSANs, "tls-san", true)
	many(&s.Disable, "disable", true)
	many(&s.NodeLabels, "node-label", true)
	many(&s.NodeTaints, "node-taint", true)
	many(&s.KubeletArgs, "kubelet-arg", false)
	many(&s.APIServerArgs, "kube-apiserver-arg", false)
	many(&s.ControllerArgs, "kube-controller-manager-arg", false)
	many(&s.SchedulerArgs, "kube-scheduler-arg", false)
	many(&s.ProxyArgs, "kube-proxy-arg", false)
}

// Parse reads the arguments that follow `server`. Values from configuration files count as if they
// stood before the arguments, so that the command line wins.
func Parse(args []string) (*Server, error) {
	fromFiles, err := configArgs(configFiles(), args)
	if err != nil {
		return nil, err
	}
	server := &Server{}
	set := server.flags()
	if err := set.Parse(append(fromFiles, args...)); err != nil {
		return nil, err
	}
	if set.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", set.Arg(0))
	}
	if server.Token == "" && server.TokenFile != "" {
		content, err := os.ReadFile(server.TokenFile)
		if err != nil {
			return nil, err
		}
		server.Token = strings.TrimSpace(string(content))
	}
	return server, nil
}
