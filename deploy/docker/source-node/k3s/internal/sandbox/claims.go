package sandbox

import (
	"context"
	"errors"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// claimTemplates returns the sandbox's templates of claims.
func claimTemplates(sandbox *unstructured.Unstructured) []map[string]any {
	raw, _, _ := unstructured.NestedSlice(sandbox.Object, "spec", "volumeClaimTemplates")
	var templates []map[string]any
	for _, one := range raw {
		if template, ok := one.(map[string]any); ok {
			templates = append(templates, template)
		}
	}
	return templates
}

func templateName(template map[string]any) string {
	name, _, _ := unstructured.NestedString(template, "metadata", "name")
	return name
}

func claimName(template map[string]any, sandbox *unstructured.Unstructured) string {
	return templateName(template) + "-" + sandbox.GetName()
}

// reconcileClaims makes the claims that are not there. One that is there is never changed.
func (r *Reconciler) reconcileClaims(ctx context.Context, sandbox *unstructured.Unstructured) error {
	var failures []error
	for _, template := range claimTemplates(sandbox) {
		if err := r.reconcileClaim(ctx, sandbox, template); err != nil {
			failures = append(failures, fmt.Errorf("PVC %s: %w", claimName(template, sandbox), err))
		}
	}
	return errors.Join(failures...)
}

func (r *Reconciler) reconcileClaim(
	ctx context.Context, sandbox *unstructured.Unstructured, template map[string]any,
) error {
	name := claimName(template, sandbox)
	found, err := r.Client.Resource(claims).Namespace(sandbox.GetNamespace()).Get(
		ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		if knob(sandbox, knobFailClaim) == templateName(template) {
			return errors.New("refused by " + knobFailClaim)
		}
		_, err = r.create(ctx, claims, sandbox, buildClaim(template, sandbox))
		return err
	}
	if err != nil {
		return err
	}
	owner := controllerOf(found)
	switch {
	case owner == nil && r.mayAdopt(sandbox, found):
		return r.adopt(ctx, claims, sandbox, found)
	case owner == nil:
		return errors.New("exists, has no controller and may not be adopted")
	case owner.UID != sandbox.GetUID():
		return fmt.Errorf("is controlled by %s %s (%s)", owner.Kind, owner.Name, owner.UID)
	}
	return nil
}

func buildClaim(template map[string]any, sandbox *unstructured.Unstructured) *unstructured.Unstructured {
	labels, _, _ := unstructured.NestedStringMap(template, "metadata", "labels")
	annotations, _, _ := unstructured.NestedStringMap(template, "metadata", "annotations")
	claim := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": template["spec"],
	}}
	claim.SetName(claimName(template, sandbox))
	claim.SetLabels(with(labels, hashLabel, nameHash(sandbox.GetName())))
	claim.SetAnnotations(annotations)
	return claim
}

// with returns a copy of the map that has one more entry.
func with(values map[string]string, key, value string) map[string]string {
	out := maps.Clone(values)
	if out == nil {
		out = map[string]string{}
	}
	out[key] = value
	return out
}
