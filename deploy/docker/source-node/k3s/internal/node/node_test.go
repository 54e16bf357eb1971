package node

import (
	"errors"
	"net"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"
)

func TestVerify(t *testing.T) {
	stored, err := hash("secret", []byte("salt"))
	if err != nil {
		t.Fatal(err)
	}
	if err := verify("secret", stored); err != nil {
		t.Errorf("the right password: %v", err)
	}
	for _, other := range []string{stored, "", "$1:!:15:8:1:x", "nonsense"} {
		if err := verify("other", other); !errors.Is(err, ErrHashMismatch) {
			t.Errorf("%q: %v", other, err)
		}
	}
}

func TestAnnotationsHideTokens(t *testing.T) {
	for name, args := range map[string][]string{
		"joined": {"server", "--token=secret"}, "apart": {"server", "--token", "secret"}, "short": {"server", "-t", "secret"},
	} {
		t.Run(name, func(t *testing.T) {
			got := Annotations("n", net.IPv4(1, 2, 3, 4), args, []string{"K3S_TOKEN=secret", "K3S_X=shown", "OTHER=x"})
			for key, value := range got {
				if strings.Contains(value, "secret") {
					t.Errorf("%s tells it: %s", key, value)
				}
			}
			if got["k3s.io/node-env"] != `{"K3S_TOKEN":"********","K3S_X":"shown"}` {
				t.Errorf("%s", got["k3s.io/node-env"])
			}
		})
	}
	shown := maskArgs([]string{"server", "--node-name=a", "--debug", "--tls-san", "x"})
	if got := strings.Join(shown, " "); got != "server --node-name a --debug --tls-san x" {
		t.Errorf("%s", got)
	}
}

func TestInitializeWaitsForAnAddress(t *testing.T) {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n"},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{
			{Key: cloudproviderapi.TaintExternalCloudProvider}, {Key: "kept"},
		}},
	}
	initialize(node)
	if len(node.Spec.Taints) != 2 || node.Spec.ProviderID != "" {
		t.Fatalf("initialized without an address: %+v", node.Spec)
	}
	node.Annotations = map[string]string{cloudproviderapi.AnnotationAlphaProvidedIPAddr: "10.0.0.2"}
	node.Status.Addresses = addresses(node)
	initialize(node)
	if len(node.Spec.Taints) != 1 || node.Spec.Taints[0].Key != "kept" || node.Spec.ProviderID != "k3s://n" {
		t.Errorf("%+v", node.Spec)
	}
}

func TestFinalizerIsSetOnceAndRemovedAlone(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Finalizers: []string{"other"}}}
	setFinalizer(node)
	setFinalizer(node)
	if len(node.Finalizers) != 2 {
		t.Errorf("%v", node.Finalizers)
	}
	if left := withoutFinalizer(node).Finalizers; len(left) != 1 || left[0] != "other" {
		t.Errorf("%v", left)
	}
}
