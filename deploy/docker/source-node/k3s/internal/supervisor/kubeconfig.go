package supervisor

import (
	"os"
	"path/filepath"
	"strconv"

	"github.com/sirupsen/logrus"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"openshell.ai/source-node/k3s/internal/components"
	"openshell.ai/source-node/k3s/internal/layout"
	"openshell.ai/source-node/k3s/internal/pki"
)

const apiURL = "https://127.0.0.1:" + components.APIPort

// writeKubeconfig writes a kubeconfig with everything embedded and every name `default`.
func writeKubeconfig(path string, server, client *pki.Pair, mode os.FileMode) error {
	key, err := client.KeyPEM()
	if err != nil {
		return err
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["default"] = &clientcmdapi.Cluster{
		Server: apiURL, CertificateAuthorityData: pki.CertificatePEM(server.Certificate),
	}
	config.AuthInfos["default"] = &clientcmdapi.AuthInfo{
		ClientCertificateData: pki.CertificatePEM(client.Certificate),
		ClientKeyData:         key,
	}
	config.Contexts["default"] = &clientcmdapi.Context{Cluster: "default", AuthInfo: "default"}
	config.CurrentContext = "default"
	content, err := clientcmd.Write(*config)
	if err != nil {
		return err
	}
	// A new file under another name, so that no reader ever meets half of it.
	temporary := path + ".new"
	if err := os.WriteFile(temporary, content, mode); err != nil {
		return err
	}
	if err := os.Chmod(temporary, mode); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}

// writeAdminKubeconfig writes the kubeconfig that users read.
func (s *Supervisor) writeAdminKubeconfig() error {
	server, err := pki.Load(filepath.Join(s.at.TLS(), "server-ca"))
	if err != nil {
		return err
	}
	admin, err := pki.Load(filepath.Join(s.at.TLS(), "client-admin"))
	if err != nil {
		return err
	}
	path, mode := layout.Kubeconfig, os.FileMode(0o600)
	if output := s.settings.Options.KubeconfigOutput; output != "" {
		path = output
	}
	if text := s.settings.Options.KubeconfigMode; text != "" {
		parsed, err := strconv.ParseUint(text, 8, 32)
		if err != nil {
			return err
		}
		mode = os.FileMode(parsed)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := writeKubeconfig(path, server, admin, mode); err != nil {
		return err
	}
	logrus.Infof("Wrote kubeconfig %s", path)
	logrus.Infof("Node token is available at %s", s.at.Token())
	return nil
}
