package network

import (
	"os"
	"path/filepath"
	"testing"
)

func TestResolvConf(t *testing.T) {
	for name, test := range map[string]struct {
		host     string
		replaced bool
	}{
		"a reachable server":      {"search x\nnameserver 10.1.2.3\n", false},
		"loopback beside another": {"nameserver 127.0.0.11\nnameserver 10.1.2.3\n", false},
		"loopback only":           {"nameserver 127.0.0.11\noptions ndots:0\n", true},
		"multicast only":          {"nameserver 224.0.0.1\n", true},
		"none":                    {"", true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			host := filepath.Join(dir, "host")
			if err := os.WriteFile(host, []byte(test.host), 0o600); err != nil {
				t.Fatal(err)
			}
			path, replaced, err := ResolvConf("", host, dir)
			if err != nil || replaced != test.replaced {
				t.Fatalf("%v %v", replaced, err)
			}
			if (path == host) == replaced {
				t.Errorf("wrong file: %s", path)
			}
		})
	}
	if path, replaced, err := ResolvConf("/given", "/absent", t.TempDir()); path != "/given" || replaced || err != nil {
		t.Errorf("%s %v %v", path, replaced, err)
	}
}

func TestServiceAddress(t *testing.T) {
	address, err := ServiceAddress("10.43.0.0/16", 10)
	if err != nil || address.String() != "10.43.0.10" {
		t.Errorf("%s %v", address, err)
	}
	if _, err := ServiceAddress("nonsense", 1); err == nil {
		t.Error("accepted nonsense")
	}
}

func TestNodeSubnet(t *testing.T) {
	for cidr, want := range map[string]string{
		"10.42.0.0/16": "10.42.0.0/24", "10.9.8.0/24": "10.9.8.0/24", "10.9.8.0/25": "", "fd00::/56": "", "x": "",
	} {
		got, err := nodeSubnet(cidr)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q %v", cidr, got, err)
		}
	}
}
