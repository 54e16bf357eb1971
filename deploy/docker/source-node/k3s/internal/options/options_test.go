package options

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestParse(t *testing.T) {
	given, err := Parse([]string{
		"--node-name=One", "--disable=traefik,servicelb", "--disable", "coredns", "-tls-san=a",
		"--kubelet-arg=eviction-hard=a<1%,b<2%", "--with-node-id",
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"traefik", "servicelb", "coredns"}; !slices.Equal(given.Disable, want) {
		t.Errorf("disable: %v", given.Disable)
	}
	if want := []string{"eviction-hard=a<1%,b<2%"}; !slices.Equal(given.KubeletArgs, want) {
		t.Errorf("a component's argument was taken apart: %v", given.KubeletArgs)
	}
	if given.NodeName != "One" || !given.WithNodeID || given.DataDir != "/var/lib/rancher/k3s" {
		t.Errorf("%+v", given)
	}
}

func TestParseRefuses(t *testing.T) {
	for name, args := range map[string][]string{
		"an unknown flag":    {"--bogus"},
		"a stray argument":   {"stray"},
		"a lost token file":  {"--token-file=/does/not/exist"},
		"a flag of no value": {"--node-name"},
	} {
		t.Run(name, func(t *testing.T) {
			if given, err := Parse(args); err == nil {
				t.Errorf("accepted: %+v", given)
			}
		})
	}
}

func TestEnvironmentIsTheDefault(t *testing.T) {
	t.Setenv("K3S_NODE_NAME", "from-environment")
	t.Setenv("K3S_TOKEN", "secret")
	given, err := Parse([]string{"--token=other"})
	if err != nil || given.NodeName != "from-environment" || given.Token != "other" {
		t.Errorf("%+v %v", given, err)
	}
}

func TestConfigArgs(t *testing.T) {
	folder := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	files := []string{
		filepath.Join(folder, "absent.yaml"),
		write("1.yaml", "disable: [a]\nnode-name: one\ndebug: true\n"),
		write("2.yaml", "disable+: [b]\nnode-name: two\n"),
	}
	for name, test := range map[string]struct{ args, want []string }{
		"later files win and append":  {nil, []string{"--debug=true", "--disable=a", "--disable=b", "--node-name=two"}},
		"the command line wins whole": {[]string{"--disable=c"}, []string{"--debug=true", "--node-name=two"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := configArgs(files, test.args)
			if err != nil || !slices.Equal(got, test.want) {
				t.Errorf("got %v %v, want %v", got, err, test.want)
			}
		})
	}
	if _, err := configArgs([]string{write("bad.yaml", "a: [")}, nil); err == nil {
		t.Error("a broken file was accepted")
	}
}
