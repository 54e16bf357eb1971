package supervisor

import (
	"crypto/x509"
	"net"
	"os"
	"path/filepath"

	"openshell.ai/source-node/k3s/internal/network"
	"openshell.ai/source-node/k3s/internal/pki"
)

// authorities are the three roots of trust of a server.
type authorities struct{ client, server, requestHeader *pki.Pair }

func (s *Supervisor) ensureAuthorities() (authorities, error) {
	var out authorities
	for _, folder := range []string{s.at.TLS(), s.at.Cred()} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return out, err
		}
	}
	for name, target := range map[string]**pki.Pair{
		"client": &out.client, "server": &out.server, "request-header": &out.requestHeader,
	} {
		pair, err := pki.EnsureAuthority(filepath.Join(s.at.TLS(), name+"-ca"), "k3s-"+name+"-ca")
		if err != nil {
			return out, err
		}
		*target = pair
	}
	return out, pki.EnsureServiceKey(filepath.Join(s.at.TLS(), "service.key"))
}

// identityOf is a client certificate: its file, its subject, and the kubeconfig made from it.
type identityOf struct {
	base, name, group, kubeconfig string
}

func (s *Supervisor) clientIdentities() []identityOf {
	tls, agent := s.at.TLS(), s.at.Agent()
	return []identityOf{
		{filepath.Join(tls, "client-admin"), "system:admin", "system:masters", s.settings.KubeconfigPath("admin")},
		{filepath.Join(tls, "client-supervisor"), "system:k3s-supervisor", "system:masters", ""},
		{filepath.Join(tls, "client-kube-apiserver"), "system:apiserver", "system:masters", ""},
		{filepath.Join(tls, "client-controller"), "system:kube-controller-manager", "",
			s.settings.KubeconfigPath("controller")},
		{filepath.Join(tls, "client-scheduler"), "system:kube-scheduler", "",
			s.settings.KubeconfigPath("scheduler")},
		{filepath.Join(agent, "client-kubelet"), "system:node:" + s.settings.NodeName, "system:nodes",
			s.settings.AgentKubeconfigPath("kubelet")},
		{filepath.Join(agent, "client-kube-proxy"), "system:kube-proxy", "",
			s.settings.AgentKubeconfigPath("kubeproxy")},
	}
}

// ensureCertificates makes every certificate that is missing or no longer fits, so that the serving
// ones follow the node's address and the names asked for.
func (s *Supervisor) ensureCertificates(by authorities) error {
	for _, each := range s.clientIdentities() {
		request := pki.Request{CommonName: each.name, Usage: x509.ExtKeyUsageClientAuth}
		if each.group != "" {
			request.Organizations = []string{each.group}
		}
		pair, err := pki.EnsureLeaf(each.base, by.client, request)
		if err != nil {
			return err
		}
		if each.kubeconfig == "" {
			continue
		}
		if err := writeKubeconfig(each.kubeconfig, by.server, pair, 0o600); err != nil {
			return err
		}
	}
	proxy := pki.Request{CommonName: "system:auth-proxy", Usage: x509.ExtKeyUsageClientAuth}
	if _, err := pki.EnsureLeaf(filepath.Join(s.at.TLS(), "client-auth-proxy"), by.requestHeader, proxy); err != nil {
		return err
	}
	return s.ensureServing(by)
}

func (s *Supervisor) ensureServing(by authorities) error {
	api, err := s.servingRequest()
	if err != nil {
		return err
	}
	if _, err := pki.EnsureLeaf(filepath.Join(s.at.TLS(), "serving-kube-apiserver"), by.server, api); err != nil {
		return err
	}
	kubelet := pki.Request{
		CommonName: s.settings.NodeName, Usage: x509.ExtKeyUsageServerAuth,
		Names:     []string{s.settings.NodeName, "localhost"},
		Addresses: []net.IP{net.IPv4(127, 0, 0, 1), s.settings.NodeAddress},
	}
	if _, err := pki.EnsureLeaf(filepath.Join(s.at.Agent(), "serving-kubelet"), by.server, kubelet); err != nil {
		return err
	}
	for name, authority := range map[string]*pki.Pair{"client-ca.crt": by.client, "server-ca.crt": by.server} {
		path := filepath.Join(s.at.Agent(), name)
		if err := os.WriteFile(path, pki.CertificatePEM(authority.Certificate), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// servingRequest lists the names and addresses under which the API may be reached.
func (s *Supervisor) servingRequest() (pki.Request, error) {
	service, err := network.ServiceAddress(s.settings.Options.ServiceCIDR, 1)
	if err != nil {
		return pki.Request{}, err
	}
	request := pki.Request{
		CommonName: "kube-apiserver", Usage: x509.ExtKeyUsageServerAuth,
		Names: []string{"localhost", s.settings.NodeName, "kubernetes", "kubernetes.default",
			"kubernetes.default.svc", "kubernetes.default.svc." + s.settings.Options.ClusterDomain},
		Addresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback, s.settings.NodeAddress, service},
	}
	for _, san := range s.settings.Options.TLSSANs {
		if address := net.ParseIP(san); address != nil {
			request.Addresses = append(request.Addresses, address)
		} else {
			request.Names = append(request.Names, san)
		}
	}
	return request, nil
}
