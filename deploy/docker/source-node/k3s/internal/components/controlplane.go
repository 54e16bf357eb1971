package components

import (
	"path/filepath"

	"openshell.ai/source-node/k3s/internal/layout"
)

// APIPort is where the API is served, inside the node and out.
const APIPort = "6443"

// Kine returns the datastore shim. With no endpoint given it opens SQLite at ./db/state.db with its
// own defaults, which are the pragmas that a k3s of the same kine uses.
func (s Settings) Kine() Command {
	return Command{
		Name: "kine", Path: filepath.Join(layout.Libexec, "kine"), Dir: s.At.Server(),
		Args: []string{"--listen-address=unix://" + s.At.KineSocket(), "--metrics-bind-address=0",
			"--log-format=json"},
	}
}

// APIServer returns the API server.
func (s Settings) APIServer() Command {
	defaults := []argument{
		{"advertise-address", s.NodeAddress.String()},
		{"secure-port", APIPort},
		{"etcd-servers", "unix://" + s.At.KineSocket()},
		{"anonymous-auth", "false"},
		{"authorization-mode", "Node,RBAC"},
		{"allow-privileged", "true"},
		{"enable-admission-plugins", "NodeRestriction"},
		{"service-cluster-ip-range", s.Options.ServiceCIDR},
		{"service-node-port-range", "30000-32767"},
		{"client-ca-file", s.tls("client-ca.crt")},
		{"tls-cert-file", s.tls("serving-kube-apiserver.crt")},
		{"tls-private-key-file", s.tls("serving-kube-apiserver.key")},
		{"kubelet-certificate-authority", s.tls("server-ca.crt")},
		{"kubelet-client-certificate", s.tls("client-kube-apiserver.crt")},
		{"kubelet-client-key", s.tls("client-kube-apiserver.key")},
		{"kubelet-preferred-address-types", "InternalIP,ExternalIP,Hostname"},
		{"service-account-issuer", "https://kubernetes.default.svc." + s.Options.ClusterDomain},
		{"api-audiences", "https://kubernetes.default.svc." + s.Options.ClusterDomain + ",k3s"},
		{"service-account-key-file", s.tls("service.key")},
		{"service-account-signing-key-file", s.tls("service.key")},
		{"requestheader-client-ca-file", s.tls("request-header-ca.crt")},
		{"requestheader-allowed-names", "system:auth-proxy"},
		{"requestheader-extra-headers-prefix", "X-Remote-Extra-"},
		{"requestheader-group-headers", "X-Remote-Group"},
		{"requestheader-username-headers", "X-Remote-User"},
		{"proxy-client-cert-file", s.tls("client-auth-proxy.crt")},
		{"proxy-client-key-file", s.tls("client-auth-proxy.key")},
		{"profiling", "false"},
		// Without it the server waits for watches to be closed by pods that know nothing of its end.
		{"shutdown-watch-termination-grace-period", "1s"},
	}
	return kube("kube-apiserver", merged(defaults, s.Options.APIServerArgs))
}

// ControllerManager returns the controller manager. The cloud controllers are the supervisor's.
func (s Settings) ControllerManager() Command {
	config := s.KubeconfigPath("controller")
	defaults := []argument{
		{"kubeconfig", config},
		{"authentication-kubeconfig", config},
		{"authorization-kubeconfig", config},
		{"use-service-account-credentials", "true"},
		{"controllers", "*,tokencleaner,-service,-route,-cloud-node-lifecycle"},
		{"root-ca-file", s.tls("server-ca.crt")},
		{"service-account-private-key-file", s.tls("service.key")},
		{"cluster-signing-kube-apiserver-client-cert-file", s.tls("client-ca.crt")},
		{"cluster-signing-kube-apiserver-client-key-file", s.tls("client-ca.key")},
		{"cluster-signing-kubelet-client-cert-file", s.tls("client-ca.crt")},
		{"cluster-signing-kubelet-client-key-file", s.tls("client-ca.key")},
		{"cluster-signing-kubelet-serving-cert-file", s.tls("server-ca.crt")},
		{"cluster-signing-kubelet-serving-key-file", s.tls("server-ca.key")},
		{"cluster-signing-legacy-unknown-cert-file", s.tls("server-ca.crt")},
		{"cluster-signing-legacy-unknown-key-file", s.tls("server-ca.key")},
		{"cluster-cidr", s.Options.ClusterCIDR},
		{"service-cluster-ip-range", s.Options.ServiceCIDR},
		{"allocate-node-cidrs", "false"},
		{"leader-elect", "false"},
		{"bind-address", "127.0.0.1"},
		{"profiling", "false"},
		// Its start creates a service account per controller, one after the other.
		{"kube-api-qps", "100"},
		{"kube-api-burst", "200"},
	}
	return kube("kube-controller-manager", merged(defaults, s.Options.ControllerArgs))
}

// Scheduler returns the scheduler.
func (s Settings) Scheduler() Command {
	config := s.KubeconfigPath("scheduler")
	defaults := []argument{
		{"kubeconfig", config},
		{"authentication-kubeconfig", config},
		{"authorization-kubeconfig", config},
		{"leader-elect", "false"},
		{"bind-address", "127.0.0.1"},
		{"profiling", "false"},
	}
	return kube("kube-scheduler", merged(defaults, s.Options.SchedulerArgs))
}
