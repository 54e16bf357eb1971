// Package layout names every file the node keeps, as k3s lays them out below its data folder.
// Nothing in it touches the disk.
package layout

import "path/filepath"

// Fixed places outside the data folder.
const (
	ConfigDir        = "/etc/rancher/k3s"
	NodeDir          = "/etc/rancher/node"
	Kubeconfig       = ConfigDir + "/k3s.yaml"
	RunDir           = "/run/k3s"
	ContainerdState  = RunDir + "/containerd"
	ContainerdSocket = ContainerdState + "/containerd.sock"
	// Libexec holds the binaries that the supervisor runs and that no user calls by name.
	Libexec = "/usr/libexec/k3s"
	// BundledImages are the image archives that come with the node image. They lie outside every
	// declared volume, which would hide them.
	BundledImages = "/usr/share/k3s/images"
	CNIBinaries   = "/usr/lib/cni"
	KubeletRoot   = "/var/lib/kubelet"
)

// Layout is the data folder (`--data-dir`, normally /var/lib/rancher/k3s) and what lies in it.
type Layout struct{ Data string }

func (l Layout) join(parts ...string) string {
	return filepath.Join(append([]string{l.Data}, parts...)...)
}

// Server returns the folder of the control plane.
func (l Layout) Server() string { return l.join("server") }

// TLS returns the folder of authorities and control-plane certificates.
func (l Layout) TLS() string { return l.join("server", "tls") }

// Cred returns the folder of component kubeconfigs and of the password file.
func (l Layout) Cred() string { return l.join("server", "cred") }

// Passwd returns the file that holds the short form of the token.
func (l Layout) Passwd() string { return l.join("server", "cred", "passwd") }

// Token returns the file that holds the full form of the token.
func (l Layout) Token() string { return l.join("server", "token") }

// DB returns the folder of the datastore.
func (l Layout) DB() string { return l.join("server", "db") }

// KineSocket returns the socket on which kine serves the datastore.
func (l Layout) KineSocket() string { return l.join("server", "kine.sock") }

// Manifests returns the auto-deploy folder.
func (l Layout) Manifests() string { return l.join("server", "manifests") }

// Agent returns the folder of the node agents.
func (l Layout) Agent() string { return l.join("agent") }

// AgentEtc returns the folder of configuration files generated for the node agents.
func (l Layout) AgentEtc() string { return l.join("agent", "etc") }

// KubeletConfigDir returns the folder of kubelet configuration drop-ins.
func (l Layout) KubeletConfigDir() string { return l.join("agent", "etc", "kubelet.conf.d") }

// CNIConfigDir returns the folder of the pod network's configuration.
func (l Layout) CNIConfigDir() string { return l.join("agent", "etc", "cni", "net.d") }

// StaticPods returns the folder of static pod manifests.
func (l Layout) StaticPods() string { return l.join("agent", "pod-manifests") }

// Images returns the folder of image archives that the user brings.
func (l Layout) Images() string { return l.join("agent", "images") }

// Containerd returns containerd's store.
func (l Layout) Containerd() string { return l.join("agent", "containerd") }

// ContainerdConfig returns containerd's generated configuration file.
func (l Layout) ContainerdConfig() string { return l.join("agent", "etc", "containerd", "config.toml") }

// Storage returns the folder of local-path volumes.
func (l Layout) Storage() string { return l.join("storage") }
