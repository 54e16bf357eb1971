package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// Reconciler brings one sandbox after another nearer to what its resource asks for.
type Reconciler struct {
	Profile Profile
	Client  dynamic.Interface
	// Domain is the cluster's, for the names of Services.
	Domain string
	Now    func() time.Time
	// Delay passes before each write, for tests.
	Delay time.Duration
}

// Reconcile makes one pass for one sandbox. It returns when the next one is due without any event;
// 0 is never.
func (r *Reconciler) Reconcile(ctx context.Context, namespace, name string) (time.Duration, error) {
	sandbox, err := r.sandboxes(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return 0, r.holdPods(ctx, namespace, name, false)
	}
	if err != nil {
		return 0, err
	}
	if isOn(sandbox, knobDown) {
		return 0, nil
	}
	if sandbox.GetDeletionTimestamp() != nil {
		return 0, r.holdPods(ctx, namespace, name, isOn(sandbox, knobHold))
	}
	rest, expires := r.lifetime(sandbox)
	if expires && rest <= 0 {
		return r.expire(ctx, sandbox)
	}
	err = r.pass(ctx, sandbox)
	if expires {
		return max(rest, 2*time.Second), err
	}
	if every := knobDuration(sandbox, knobBump); every > 0 && err == nil {
		return every, r.bump(ctx, sandbox)
	}
	return 0, err
}

// pass reconciles children and status of a sandbox that has not expired.
func (r *Reconciler) pass(ctx context.Context, sandbox *unstructured.Unstructured) error {
	seen := r.reconcileChildren(ctx, sandbox)
	status := r.status(sandbox, seen)
	err := r.writeStatus(ctx, sandbox, status)
	if seen.isMany {
		return err // nothing is retried: somebody must remove a pod, which is an event
	}
	return errors.Join(seen.err, err)
}

// children is what a pass found and made.
type children struct {
	pod     *unstructured.Unstructured // the sandbox's own; nil without one
	service *unstructured.Unstructured // likewise
	// isForeign says that another's pod has the name; isUnknown that the look-up failed; isMany
	// that there are several own pods.
	isForeign, isUnknown, isMany bool
	err                          error
}

// reconcileChildren goes on after an error: a pod is made though its claim was refused.
func (r *Reconciler) reconcileChildren(ctx context.Context, sandbox *unstructured.Unstructured) children {
	var seen children
	if r.Profile.CountsPods {
		own, err := r.ownPods(ctx, sandbox)
		if err == nil && len(own) > 1 {
			r.reportMany(ctx, sandbox, own)
			return children{isMany: true}
		}
	}
	failures := []error{r.reconcileClaims(ctx, sandbox)}
	failures = append(failures, r.reconcilePod(ctx, sandbox, &seen))
	failures = append(failures, r.reconcileService(ctx, sandbox, &seen))
	seen.err = errors.Join(failures...)
	return seen
}

// isSuspended reports whether the sandbox is asked not to run.
func (r *Reconciler) isSuspended(sandbox *unstructured.Unstructured) bool {
	if r.Profile.Replicas {
		replicas, found, _ := unstructured.NestedInt64(sandbox.Object, "spec", "replicas")
		return found && replicas == 0
	}
	mode, _, _ := unstructured.NestedString(sandbox.Object, "spec", "operatingMode")
	return mode == "Suspended"
}

func (r *Reconciler) sandboxes(namespace string) dynamic.ResourceInterface {
	return r.Client.Resource(r.Profile.sandboxes()).Namespace(namespace)
}

// ownerReference is the one that every child gets.
func (r *Reconciler) ownerReference(sandbox *unstructured.Unstructured) metav1.OwnerReference {
	yes := true
	return metav1.OwnerReference{
		APIVersion: group + "/" + r.Profile.Version, Kind: kind, Name: sandbox.GetName(),
		UID: sandbox.GetUID(), Controller: &yes, BlockOwnerDeletion: &yes,
	}
}

// create makes a child, controlled by the sandbox.
func (r *Reconciler) create(
	ctx context.Context, resource schema.GroupVersionResource, sandbox, child *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	if err := r.pause(ctx, sandbox); err != nil {
		return nil, err
	}
	child.SetNamespace(sandbox.GetNamespace())
	child.SetOwnerReferences([]metav1.OwnerReference{r.ownerReference(sandbox)})
	return r.Client.Resource(resource).Namespace(sandbox.GetNamespace()).Create(
		ctx, child, metav1.CreateOptions{FieldManager: creator})
}

// remove deletes a child with its own grace, if it is still the one that was seen.
func (r *Reconciler) remove(
	ctx context.Context, resource schema.GroupVersionResource, sandbox, child *unstructured.Unstructured,
) error {
	if err := r.pause(ctx, sandbox); err != nil {
		return err
	}
	uid := child.GetUID()
	err := r.Client.Resource(resource).Namespace(child.GetNamespace()).Delete(ctx, child.GetName(),
		metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	return ignoreNotFound(err)
}

// adopt makes the sandbox the controller of a child that has none.
func (r *Reconciler) adopt(
	ctx context.Context, resource schema.GroupVersionResource, sandbox, child *unstructured.Unstructured,
) error {
	if err := r.pause(ctx, sandbox); err != nil {
		return err
	}
	owners := append(child.GetOwnerReferences(), r.ownerReference(sandbox))
	return r.patch(ctx, resource, child, map[string]any{"metadata": map[string]any{
		"ownerReferences": owners, "resourceVersion": child.GetResourceVersion(),
	}})
}

// mayAdopt reports whether the sandbox may take over a child that has no controller.
func (r *Reconciler) mayAdopt(sandbox, child *unstructured.Unstructured) bool {
	labels := child.GetLabels()
	return r.Profile.AdoptsAnyOrphan || labels[adoptableLabel] == "true" ||
		labels[hashLabel] == nameHash(sandbox.GetName())
}

// annotate sets annotations of the Sandbox, or removes those whose value is nil.
func (r *Reconciler) annotate(
	ctx context.Context, sandbox *unstructured.Unstructured, values map[string]any,
) error {
	if err := r.pause(ctx, sandbox); err != nil {
		return err
	}
	return r.patch(ctx, r.Profile.sandboxes(), sandbox,
		map[string]any{"metadata": map[string]any{"annotations": values}})
}

// patch merges into an object.
func (r *Reconciler) patch(
	ctx context.Context, resource schema.GroupVersionResource, object *unstructured.Unstructured,
	change map[string]any, subresources ...string,
) error {
	body, err := json.Marshal(change)
	if err != nil {
		return err
	}
	_, err = r.Client.Resource(resource).Namespace(object.GetNamespace()).Patch(ctx, object.GetName(),
		types.MergePatchType, body, metav1.PatchOptions{FieldManager: writer}, subresources...)
	return err
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
