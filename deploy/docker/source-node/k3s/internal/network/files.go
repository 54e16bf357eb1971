package network

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// publicResolver is what k3s falls back to where the host has loopback name servers only.
const publicResolver = "nameserver 8.8.8.8\n"

// ResolvConf returns the file that pods get their name servers from: the one given, else the
// host's, else, where the host names loopback servers only, one written below dir with a public
// server in it. replaced tells that the last was the case.
func ResolvConf(given, host, dir string) (path string, replaced bool, err error) {
	if given != "" {
		return given, false, nil
	}
	content, err := os.ReadFile(host)
	if err == nil && hasUsableServer(string(content)) {
		return host, false, nil
	}
	path = filepath.Join(dir, "resolv.conf")
	return path, true, os.WriteFile(path, []byte(publicResolver), 0o644)
}

func hasUsableServer(content string) bool {
	for _, line := range strings.Split(content, "\n") {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != "nameserver" {
			continue
		}
		if address := net.ParseIP(fields[1]); address != nil && address.IsGlobalUnicast() {
			return true
		}
	}
	return false
}

// WriteCNIConfig writes the pod network: one bridge with the node's own /24 of the cluster network,
// and host ports. It takes the place of flannel, which a single node does not need.
func WriteCNIConfig(dir, clusterCIDR string) error {
	subnet, err := nodeSubnet(clusterCIDR)
	if err != nil {
		return err
	}
	bridge := map[string]any{
		"type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": true, "hairpinMode": true,
		"ipam": map[string]any{
			"type":   "host-local",
			"ranges": [][]map[string]string{{{"subnet": subnet}}},
			"routes": []map[string]string{{"dst": "0.0.0.0/0"}},
		},
	}
	portmap := map[string]any{
		"type": "portmap", "capabilities": map[string]bool{"portMappings": true},
	}
	content, err := json.MarshalIndent(map[string]any{
		"cniVersion": "1.0.0", "name": "cbr0", "plugins": []any{bridge, portmap},
	}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "10-bridge.conflist"), content, 0o600)
}

func nodeSubnet(clusterCIDR string) (string, error) {
	_, network, err := net.ParseCIDR(clusterCIDR)
	if err != nil {
		return "", err
	}
	if ones, bits := network.Mask.Size(); bits != 32 || ones > 24 {
		return "", fmt.Errorf("cluster network %s has no IPv4 /24 for the node's pods", clusterCIDR)
	}
	return network.IP.String() + "/24", nil
}
