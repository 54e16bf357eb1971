// Package node does for Node objects what k3s's embedded controllers do: it stands in for the cloud
// (provider id, addresses, the uninitialized taint), checks the node's password, and holds k3s's
// finalizer. It never removes a Node.
package node

import (
	"context"
	"encoding/json"
	"time"

	"github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	cloudproviderapi "k8s.io/cloud-provider/api"
)

const (
	finalizer = "wrangler.cattle.io/node"
	manager   = "k3s"
	// retryAfter is how long a Node that could not be updated waits for its next try.
	retryAfter = 200 * time.Millisecond
)

// labels are what k3s puts on a server's Node.
var labels = map[string]string{
	"node-role.kubernetes.io/control-plane": "true",
	"node.kubernetes.io/instance-type":      "k3s",
}

// Controller looks after the Node objects of the cluster.
type Controller struct {
	Client kubernetes.Interface
	// Name is this node's own name.
	Name string
	// Annotations are put on this node's own object.
	Annotations map[string]string
}

// Run follows the Nodes until the context ends.
func (c *Controller) Run(ctx context.Context) {
	factory := informers.NewSharedInformerFactory(c.Client, 0)
	informer := factory.Core().V1().Nodes().Informer()
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { c.handle(ctx, object) },
		UpdateFunc: func(_, object any) { c.handle(ctx, object) },
	})
	if err != nil {
		logrus.Errorf("Failed to follow Nodes: %v", err)
		return
	}
	factory.Start(ctx.Done())
	<-ctx.Done()
	factory.Shutdown()
}

// handle brings one Node in line, and tries again on its own object until it is.
func (c *Controller) handle(ctx context.Context, object any) {
	seen, isNode := object.(*corev1.Node)
	if !isNode {
		return
	}
	for err := c.sync(ctx, seen); err != nil; {
		logrus.Warnf("Failed to update node %s, trying again: %v", seen.Name, err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(retryAfter):
		}
		if seen, err = c.Client.CoreV1().Nodes().Get(ctx, seen.Name, metav1.GetOptions{}); err != nil {
			return // gone, or the API is away: the informer brings it again
		}
		err = c.sync(ctx, seen)
	}
}

func (c *Controller) sync(ctx context.Context, seen *corev1.Node) error {
	if seen.DeletionTimestamp != nil {
		return c.update(ctx, seen, withoutFinalizer(seen))
	}
	wanted := seen.DeepCopy()
	setFinalizer(wanted)
	if seen.Name == c.Name {
		if addresses := addresses(seen); len(addresses) > 0 && !sameAddresses(seen, addresses) {
			return c.updateAddresses(ctx, seen, addresses)
		}
		initialize(wanted)
		for key, value := range c.Annotations {
			metav1.SetMetaDataAnnotation(&wanted.ObjectMeta, key, value)
		}
	}
	return c.update(ctx, seen, wanted)
}

// initialize sets what a cloud controller sets, once the node has an address.
func initialize(node *corev1.Node) {
	if len(node.Status.Addresses) == 0 {
		return
	}
	if node.Spec.ProviderID == "" {
		node.Spec.ProviderID = "k3s://" + node.Name
	}
	var kept []corev1.Taint
	for _, taint := range node.Spec.Taints {
		if taint.Key != cloudproviderapi.TaintExternalCloudProvider {
			kept = append(kept, taint)
		}
	}
	node.Spec.Taints = kept
	for key, value := range labels {
		metav1.SetMetaDataLabel(&node.ObjectMeta, key, value)
	}
}

// addresses returns what the kubelet says its address is, and the node's name.
func addresses(node *corev1.Node) []corev1.NodeAddress {
	address := node.Annotations[cloudproviderapi.AnnotationAlphaProvidedIPAddr]
	if address == "" {
		return nil
	}
	return []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: address},
		{Type: corev1.NodeHostName, Address: node.Name},
	}
}

func sameAddresses(node *corev1.Node, wanted []corev1.NodeAddress) bool {
	if len(node.Status.Addresses) != len(wanted) {
		return false
	}
	for index, address := range node.Status.Addresses {
		if address != wanted[index] {
			return false
		}
	}
	return true
}

func (c *Controller) updateAddresses(
	ctx context.Context, seen *corev1.Node, wanted []corev1.NodeAddress,
) error {
	updated := seen.DeepCopy()
	updated.Status.Addresses = wanted
	_, err := c.Client.CoreV1().Nodes().UpdateStatus(ctx, updated, metav1.UpdateOptions{FieldManager: manager})
	return err
}

func setFinalizer(node *corev1.Node) {
	for _, name := range node.Finalizers {
		if name == finalizer {
			return
		}
	}
	node.Finalizers = append(node.Finalizers, finalizer)
}

func withoutFinalizer(node *corev1.Node) *corev1.Node {
	wanted := node.DeepCopy()
	wanted.Finalizers = nil
	for _, name := range node.Finalizers {
		if name != finalizer {
			wanted.Finalizers = append(wanted.Finalizers, name)
		}
	}
	return wanted
}

// update sends what differs, bound to the resource version that was looked at.
func (c *Controller) update(ctx context.Context, seen, wanted *corev1.Node) error {
	before, err := json.Marshal(seen)
	if err != nil {
		return err
	}
	after, err := json.Marshal(wanted)
	if err != nil || string(before) == string(after) {
		return err
	}
	_, err = c.Client.CoreV1().Nodes().Update(ctx, wanted, metav1.UpdateOptions{FieldManager: manager})
	return err
}

// ownerOf makes the Node an owner.
func ownerOf(node *corev1.Node) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID,
	}
}
