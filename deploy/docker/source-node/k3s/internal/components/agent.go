package components

import (
	"fmt"
	"path/filepath"
	"strings"

	"openshell.ai/source-node/k3s/internal/layout"
)

// Containerd returns the container runtime.
func (s Settings) Containerd() Command {
	return Command{
		Name: "containerd", Path: filepath.Join(layout.Libexec, "containerd"),
		Args: []string{"-c", s.At.ContainerdConfig()},
	}
}

// ContainerdConfig returns containerd's configuration. restrict_oom_score_adj lets it run where the
// machine does not grant CAP_SYS_RESOURCE.
func (s Settings) ContainerdConfig() string {
	return fmt.Sprintf(`version = 3
root = %q
state = %q

[grpc]
  address = %q

[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true
  enable_selinux = false
  enable_unprivileged_ports = true
  enable_unprivileged_icmp = true

[plugins."io.containerd.cri.v1.runtime".cni]
  bin_dirs = [%q]
  conf_dir = %q

[plugins."io.containerd.cri.v1.images"]
  snapshotter = "overlayfs"

[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "docker.io/openshell/pause:1"

[plugins."io.containerd.cri.v1.images".registry]
  config_path = %q
`, s.At.Containerd(), layout.ContainerdState, layout.ContainerdSocket, layout.CNIBinaries,
		s.At.CNIConfigDir(), filepath.Join(s.At.AgentEtc(), "containerd", "certs.d"))
}

// Kubelet returns the node agent. failCgroupV1 is left at the kubelet's own default, so that only
// an explicit argument lets it run on cgroup v1, as with k3s.
func (s Settings) Kubelet() Command {
	defaults := []argument{
		{"config-dir", s.At.KubeletConfigDir()},
		{"kubeconfig", s.AgentKubeconfigPath("kubelet")},
		{"hostname-override", s.NodeName},
		{"node-ip", s.NodeAddress.String()},
		{"cloud-provider", "external"},
		{"root-dir", layout.KubeletRoot},
	}
	if labels := s.Options.NodeLabels; len(labels) > 0 {
		defaults = append(defaults, argument{"node-labels", strings.Join(labels, ",")})
	}
	if taints := s.Options.NodeTaints; len(taints) > 0 {
		defaults = append(defaults, argument{"register-with-taints", strings.Join(taints, ",")})
	}
	return kube("kubelet", merged(defaults, s.Options.KubeletArgs))
}

// KubeletConfig returns the kubelet's defaults, the drop-in that k3s writes too. oomScoreAdj 0 is
// for machines that do not grant CAP_SYS_RESOURCE.
func (s Settings) KubeletConfig() string {
	return fmt.Sprintf(`apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: 0.0.0.0
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true, cacheTTL: 2m0s}
  x509: {clientCAFile: %q}
authorization:
  mode: Webhook
cgroupDriver: cgroupfs
clusterDNS: [%q]
clusterDomain: %q
containerRuntimeEndpoint: "unix://%s"
evictionHard: {imagefs.available: 5%%, nodefs.available: 5%%}
evictionMinimumReclaim: {imagefs.available: 10%%, nodefs.available: 10%%}
failSwapOn: false
healthzBindAddress: 127.0.0.1
oomScoreAdj: 0
resolvConf: %q
serializeImagePulls: false
staticPodPath: %q
tlsCertFile: %q
tlsPrivateKeyFile: %q
volumePluginDir: %q
`, filepath.Join(s.At.Agent(), "client-ca.crt"), s.ClusterDNS, s.Options.ClusterDomain,
		layout.ContainerdSocket, s.ResolvConf, s.At.StaticPods(),
		filepath.Join(s.At.Agent(), "serving-kubelet.crt"),
		filepath.Join(s.At.Agent(), "serving-kubelet.key"),
		filepath.Join(s.At.Data, "agent", "libexec", "kubernetes", "kubelet-plugins", "volume", "exec"))
}

// Proxy returns the service proxy. It leaves the host's connection tracking limits alone.
func (s Settings) Proxy() Command {
	defaults := []argument{
		{"kubeconfig", s.AgentKubeconfigPath("kubeproxy")},
		{"hostname-override", s.NodeName},
		{"cluster-cidr", s.Options.ClusterCIDR},
		{"proxy-mode", "iptables"},
		{"healthz-bind-address", "127.0.0.1"},
		{"oom-score-adj", "0"},
		{"conntrack-max-per-core", "0"},
		{"conntrack-min", "0"},
		{"conntrack-tcp-timeout-close-wait", "0s"},
		{"conntrack-tcp-timeout-established", "0s"},
	}
	return kube("kube-proxy", merged(defaults, s.Options.ProxyArgs))
}
