package sandbox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// podName is what the sandbox's annotation says, else the sandbox's own name.
func podName(sandbox *unstructured.Unstructured) string {
	if name := sandbox.GetAnnotations()[podNameAnnotation]; name != "" {
		return name
	}
	return sandbox.GetName()
}

// labelled lists the pods that have the label of a sandbox of that name.
func (r *Reconciler) labelled(
	ctx context.Context, namespace, name string,
) ([]unstructured.Unstructured, error) {
	found, err := r.Client.Resource(pods).Namespace(namespace).List(ctx,
		metav1.ListOptions{LabelSelector: hashLabel + "=" + nameHash(name)})
	if err != nil {
		return nil, err
	}
	return found.Items, nil
}

// ownPods lists the pods that the sandbox controls, by its UID.
func (r *Reconciler) ownPods(
	ctx context.Context, sandbox *unstructured.Unstructured,
) ([]unstructured.Unstructured, error) {
	found, err := r.labelled(ctx, sandbox.GetNamespace(), sandbox.GetName())
	return slices.DeleteFunc(found, func(pod unstructured.Unstructured) bool {
		owner := controllerOf(&pod)
		return owner == nil || owner.UID != sandbox.GetUID()
	}), err
}

// reconcilePod settles what runs, and says in `seen` which pod it is.
func (r *Reconciler) reconcilePod(
	ctx context.Context, sandbox *unstructured.Unstructured, seen *children,
) error {
	found, err := r.findPod(ctx, sandbox)
	if err != nil {
		seen.isUnknown = true
		return fmt.Errorf("pod %s: %w", podName(sandbox), err)
	}
	if r.isSuspended(sandbox) {
		return r.stopPod(ctx, sandbox, found, seen)
	}
	if found == nil {
		return r.startPod(ctx, sandbox, seen)
	}
	owner := controllerOf(found)
	switch {
	case owner == nil && r.mayAdopt(sandbox, found):
		if err := r.adopt(ctx, pods, sandbox, found); err != nil {
			return fmt.Errorf("pod %s: %w", found.GetName(), err)
		}
	case owner == nil || owner.UID != sandbox.GetUID():
		seen.isForeign = true
		return errors.Join(fmt.Errorf("pod %s is not controlled by this Sandbox", found.GetName()),
			r.publishPodName(ctx, sandbox, ""))
	}
	seen.pod = found
	return errors.Join(
		r.pushMetadata(ctx, sandbox, found),
		r.hold(ctx, found, isOn(sandbox, knobHold)),
		r.publishPodName(ctx, sandbox, found.GetName()))
}

// findPod returns the pod of the sandbox's pod name; nil if none has it.
func (r *Reconciler) findPod(
	ctx context.Context, sandbox *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	get := func(name string) (*unstructured.Unstructured, error) {
		found, err := r.Client.Resource(pods).Namespace(sandbox.GetNamespace()).Get(
			ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return found, err
	}
	found, err := get(podName(sandbox))
	if found == nil && err == nil && podName(sandbox) != sandbox.GetName() {
		return get(sandbox.GetName())
	}
	return found, err
}

func (r *Reconciler) startPod(
	ctx context.Context, sandbox *unstructured.Unstructured, seen *children,
) error {
	made, err := r.create(ctx, pods, sandbox, r.buildPod(sandbox))
	if err != nil {
		return fmt.Errorf("pod %s: %w", sandbox.GetName(), err)
	}
	seen.pod = made
	return r.publishPodName(ctx, sandbox, made.GetName())
}

// stopPod deletes the sandbox's own pod and leaves every other one alone.
func (r *Reconciler) stopPod(
	ctx context.Context, sandbox, found *unstructured.Unstructured, seen *children,
) error {
	if found != nil {
		if owner := controllerOf(found); owner == nil || owner.UID != sandbox.GetUID() {
			seen.isForeign = true
			return r.publishPodName(ctx, sandbox, "")
		}
		if err := r.hold(ctx, found, isOn(sandbox, knobHold)); err != nil {
			return err
		}
		if found.GetDeletionTimestamp() == nil {
			if err := r.remove(ctx, pods, sandbox, found); err != nil {
				seen.pod = found
				return fmt.Errorf("pod %s: %w", found.GetName(), err)
			}
		}
		if r.Profile.WaitsForPod {
			seen.pod = found
			return nil
		}
	}
	return r.publishPodName(ctx, sandbox, "")
}

// publishPodName keeps the annotation that tells the pod's name; empty removes it.
func (r *Reconciler) publishPodName(
	ctx context.Context, sandbox *unstructured.Unstructured, name string,
) error {
	known, has := sandbox.GetAnnotations()[podNameAnnotation]
	if known == name && has == (name != "") {
		return nil
	}
	if name == "" {
		return r.annotate(ctx, sandbox, map[string]any{podNameAnnotation: nil})
	}
	return r.annotate(ctx, sandbox, map[string]any{podNameAnnotation: name})
}

// podMetadata returns the labels and annotations that the template gives a pod.
func (r *Reconciler) podMetadata(sandbox *unstructured.Unstructured) (labels, annotations map[string]string) {
	take := func(part string) map[string]string {
		values, _, _ := unstructured.NestedStringMap(
			sandbox.Object, "spec", "podTemplate", "metadata", part)
		if !r.Profile.OverridesSystemLabels {
			maps.DeleteFunc(values, func(key, _ string) bool { return isSystemKey(key) })
		}
		return values
	}
	return take("labels"), take("annotations")
}

func (r *Reconciler) buildPod(sandbox *unstructured.Unstructured) *unstructured.Unstructured {
	labels, annotations := r.podMetadata(sandbox)
	pod := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod"}}
	spec, _, _ := unstructured.NestedMap(sandbox.Object, "spec", "podTemplate", "spec")
	if spec == nil {
		spec = map[string]any{}
	}
	if templates := claimTemplates(sandbox); len(templates) > 0 {
		spec["volumes"] = mountable(spec["volumes"], templates, sandbox)
	}
	pod.Object["spec"] = spec
	pod.SetName(sandbox.GetName())
	all := map[string]string{hashLabel: nameHash(sandbox.GetName())}
	if value, has := sandbox.GetLabels()[createdByLabel]; has && !r.Profile.Replicas {
		all[createdByLabel] = createdBy(value)
	}
	maps.Copy(all, labels)
	pod.SetLabels(all)
	pod.SetAnnotations(withPropagated(annotations, labels, annotations))
	if isOn(sandbox, knobHold) {
		pod.SetFinalizers([]string{holdFinalizer})
	}
	return pod
}

// mountable returns the template's volumes with one for each claim, which replaces a volume of its
// name.
func mountable(given any, templates []map[string]any, sandbox *unstructured.Unstructured) []any {
	volumes, _ := given.([]any)
	for _, template := range templates {
		name := templateName(template)
		volumes = slices.DeleteFunc(volumes, func(one any) bool {
			volume, _ := one.(map[string]any)
			return volume["name"] == name
		})
		volumes = append(volumes, map[string]any{
			"name":                  name,
			"persistentVolumeClaim": map[string]any{"claimName": claimName(template, sandbox)},
		})
	}
	return volumes
}

func joinedKeys(values map[string]string) string {
	return strings.Join(slices.Sorted(maps.Keys(values)), ",")
}

// withPropagated adds the annotations that say which keys came from the template.
func withPropagated(target, labels, annotations map[string]string) map[string]string {
	out := maps.Clone(target)
	if out == nil {
		out = map[string]string{}
	}
	for key, joined := range map[string]string{
		propagatedLabels: joinedKeys(labels), propagatedAnnotations: joinedKeys(annotations),
	} {
		if joined != "" {
			out[key] = joined
		}
	}
	return out
}

// pushMetadata brings the template's labels and annotations to a live pod, and takes away those that
// came from the template and left it. The pod's spec is never changed.
func (r *Reconciler) pushMetadata(ctx context.Context, sandbox, pod *unstructured.Unstructured) error {
	labels, annotations := r.podMetadata(sandbox)
	marks := withPropagated(nil, labels, annotations)
	known := pod.GetAnnotations()
	change := map[string]any{}
	labelChange := difference(pod.GetLabels(), labels, known[propagatedLabels])
	annotationChange := difference(known, annotations, known[propagatedAnnotations])
	maps.Copy(annotationChange, difference(known, marks, propagatedLabels+","+propagatedAnnotations))
	if len(labelChange) > 0 {
		change["labels"] = labelChange
	}
	if len(annotationChange) > 0 {
		change["annotations"] = annotationChange
	}
	if len(change) == 0 {
		return nil
	}
	if err := r.pause(ctx, sandbox); err != nil {
		return err
	}
	return ignoreNotFound(r.patch(ctx, pods, pod, map[string]any{"metadata": change}))
}

// difference is the merge patch that makes `live` have `wanted`; of the keys that were put there
// before (joined by commas), those not wanted any more go.
func difference(live, wanted map[string]string, before string) map[string]any {
	change := map[string]any{}
	for key, value := range wanted {
		if now, has := live[key]; !has || now != value {
			change[key] = value
		}
	}
	for key := range strings.SplitSeq(before, ",") {
		_, has := live[key]
		if _, stays := wanted[key]; has && !stays && key != hashLabel {
			change[key] = nil
		}
	}
	return change
}
