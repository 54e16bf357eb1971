package components

import (
	"net"
	"slices"
	"strings"
	"testing"

	"openshell.ai/source-node/k3s/internal/layout"
	"openshell.ai/source-node/k3s/internal/options"
)

func TestMerged(t *testing.T) {
	defaults := []argument{{"a", "1"}, {"b", "2"}}
	for name, test := range map[string]struct {
		given []string
		want  []string
	}{
		"nothing given":              {nil, []string{"--a=1", "--b=2"}},
		"replaces a default":         {[]string{"a=9"}, []string{"--b=2", "--a=9"}},
		"keeps every repetition":     {[]string{"c=x", "c=y"}, []string{"--a=1", "--b=2", "--c=x", "--c=y"}},
		"takes dashes too":           {[]string{"--b=3"}, []string{"--a=1", "--b=3"}},
		"keeps the value's own sign": {[]string{"g=X=true"}, []string{"--a=1", "--b=2", "--g=X=true"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := merged(defaults, test.given); !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func settings(t *testing.T, args ...string) Settings {
	t.Helper()
	given, err := options.Parse(args)
	if err != nil {
		t.Fatal(err)
	}
	return Settings{
		Options: given, At: layout.Layout{Data: given.DataDir}, NodeName: "n",
		NodeAddress: net.IPv4(10, 0, 0, 2), ClusterDNS: net.IPv4(10, 43, 0, 10), ResolvConf: "/r",
	}
}

func TestOnlyTheFlagAllowsCgroupV1(t *testing.T) {
	if config := settings(t).KubeletConfig(); strings.Contains(strings.ToLower(config), "cgroupv1") {
		t.Errorf("the defaults say something about cgroup v1:\n%s", config)
	}
	with := settings(t, "--kubelet-arg=fail-cgroupv1=false").Kubelet()
	if !slices.Contains(with.Args, "--fail-cgroupv1=false") {
		t.Errorf("the flag is not passed on: %v", with.Args)
	}
}

func TestUserArgumentsReachTheirComponent(t *testing.T) {
	s := settings(t, "--kube-apiserver-arg=feature-gates=MutablePVNodeAffinity=true",
		"--kube-proxy-arg=proxy-mode=nftables", "--node-taint=a=b:NoSchedule", "--node-label=x=y")
	for _, test := range []struct {
		command Command
		want    string
	}{
		{s.APIServer(), "--feature-gates=MutablePVNodeAffinity=true"},
		{s.Proxy(), "--proxy-mode=nftables"},
		{s.Kubelet(), "--register-with-taints=a=b:NoSchedule"},
		{s.Kubelet(), "--node-labels=x=y"},
	} {
		if !slices.Contains(test.command.Args, test.want) {
			t.Errorf("%s has no %s: %v", test.command.Name, test.want, test.command.Args)
		}
	}
	if slices.Contains(s.Proxy().Args, "--proxy-mode=iptables") {
		t.Error("the default stayed beside what was given")
	}
}
