package manifests

import (
	"context"
	"crypto/sha1" //nolint:gosec // names a set of objects; nothing secret
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sirupsen/logrus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

const (
	addonSpace   = "kube-system"
	addonVersion = "k3s.cattle.io/v1"
	// kindsAnnotation lists the kinds of a file's objects, so that those that leave it are found.
	kindsAnnotation = "addon.k3s.cattle.io/gvks"
	addonCRDName    = "addons.k3s.cattle.io"
	component       = "deploy"
)

var (
	addonResource = schema.GroupVersionResource{Group: "k3s.cattle.io", Version: "v1", Resource: "addons"}
	crdResource   = schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
	}
	eventResource = schema.GroupVersionResource{Version: "v1", Resource: "events"}
)

// setHash is the value of the label that the objects of one Addon have in common: SHA-1 over id
// (empty), kind, name and namespace of the owner, as wrangler computes it.
func setHash(addon string) string {
	total := sha1.Sum([]byte(addonVersion + ", Kind=Addon" + addon + addonSpace)) //nolint:gosec
	return hex.EncodeToString(total[:])
}

// own marks an object as one of the Addon's.
func own(object *unstructured.Unstructured, addon string) {
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations["objectset.rio.cattle.io/id"] = ""
	annotations["objectset.rio.cattle.io/owner-gvk"] = addonVersion + ", Kind=Addon"
	annotations[ownerAnnotation] = addon
	annotations["objectset.rio.cattle.io/owner-namespace"] = addonSpace
	object.SetAnnotations(annotations)
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[hashLabel] = setHash(addon)
	object.SetLabels(labels)
}

// defineAddons makes the API of Addons and waits until it is served.
func (c *Controller) defineAddons(ctx context.Context) error {
	text := map[string]any{"type": "string", "nullable": true}
	column := func(name string) map[string]any {
		return map[string]any{"name": strings.ToUpper(name[:1]) + name[1:], "type": "string", "jsonPath": ".spec." + name}
	}
	crd := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": addonCRDName},
		"spec": map[string]any{
			"group": "k3s.cattle.io", "scope": "Namespaced",
			"names": map[string]any{
				"kind": "Addon", "listKind": "AddonList", "plural": "addons", "singular": "addon",
			},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"additionalPrinterColumns": []any{column("source"), column("checksum")},
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object", "x-kubernetes-preserve-unknown-fields": true,
					"properties": map[string]any{"spec": map[string]any{
						"type": "object", "properties": map[string]any{"source": text, "checksum": text},
					}},
				}},
			}},
		},
	}}
	_, err := c.client.Resource(crdResource).Apply(ctx, addonCRDName, crd,
		metav1.ApplyOptions{FieldManager: c.manager, Force: true})
	if err != nil {
		return err
	}
	for {
		_, err := c.addons().List(ctx, metav1.ListOptions{Limit: 1})
		if !apierrors.IsNotFound(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (c *Controller) addons() dynamic.ResourceInterface {
	return c.client.Resource(addonResource).Namespace(addonSpace)
}

// addonFor returns the Addon of a file; one that is not there yet is made, without a checksum.
func (c *Controller) addonFor(ctx context.Context, path string) (*unstructured.Unstructured, error) {
	found, err := c.addons().Get(ctx, baseName(path), metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		return found, err
	}
	return c.addons().Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": addonVersion, "kind": "Addon",
		"metadata": map[string]any{"name": baseName(path), "namespace": addonSpace},
		"spec":     map[string]any{"source": path, "checksum": ""},
	}}, metav1.CreateOptions{FieldManager: c.manager})
}

func checksumOf(addon *unstructured.Unstructured) string {
	checksum, _, _ := unstructured.NestedString(addon.Object, "spec", "checksum")
	return checksum
}

// record keeps in the Addon what was applied.
func (c *Controller) record(
	ctx context.Context, addon *unstructured.Unstructured, path, checksum string, kinds []schema.GroupVersionKind,
) error {
	annotations := addon.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	texts := make([]string, 0, len(kinds))
	for _, kind := range kinds {
		texts = append(texts, kind.String())
	}
	annotations[kindsAnnotation] = strings.Join(texts, ";")
	addon.SetAnnotations(annotations)
	addon.Object["spec"] = map[string]any{"source": path, "checksum": checksum}
	_, err := c.addons().Update(ctx, addon, metav1.UpdateOptions{FieldManager: c.manager})
	return err
}

// recordedKinds returns the kinds that the Addon's file had when it was applied last.
func recordedKinds(addon *unstructured.Unstructured) []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for text := range strings.SplitSeq(addon.GetAnnotations()[kindsAnnotation], ";") {
		version, kind, found := strings.Cut(text, ", Kind=")
		if !found {
			continue
		}
		// A core kind is written "/v1, Kind=Secret".
		if parsed, err := schema.ParseGroupVersion(strings.TrimPrefix(version, "/")); err == nil {
			kinds = append(kinds, parsed.WithKind(kind))
		}
	}
	return kinds
}

// prune deletes the Addon's objects of these kinds that are not among those to keep.
func (c *Controller) prune(
	ctx context.Context, addon string, kinds []schema.GroupVersionKind, keep []*unstructured.Unstructured,
) error {
	kept := map[string]bool{}
	for _, object := range keep {
		kept[identity(object)] = true
	}
	var failures []error
	for _, kind := range kinds {
		mapping, err := c.mapping(kind)
		if err != nil {
			continue // its definition is gone, and its objects with it
		}
		listed, err := c.client.Resource(mapping.Resource).List(ctx,
			metav1.ListOptions{LabelSelector: hashLabel + "=" + setHash(addon)})
		if err != nil {
			failures = append(failures, err)
			continue
		}
		for index := range listed.Items {
			if object := &listed.Items[index]; !kept[identity(object)] {
				failures = append(failures, c.remove(ctx, object, addon))
			}
		}
	}
	return errors.Join(failures...)
}

// identity tells objects apart across the versions of their API.
func identity(object *unstructured.Unstructured) string {
	return fmt.Sprint(object.GroupVersionKind().GroupKind(), object.GetNamespace(), "/", object.GetName())
}

// event records what happens to a file at its Addon. Its failure changes nothing.
func (c *Controller) event(ctx context.Context, addon *unstructured.Unstructured, kind, reason, message string) {
	now := time.Now().UTC().Format(time.RFC3339)
	_, err := c.client.Resource(eventResource).Namespace(addonSpace).Create(ctx, &unstructured.Unstructured{
		Object: map[string]any{
			"apiVersion": "v1", "kind": "Event", "type": kind, "reason": reason, "message": message,
			"metadata": map[string]any{"generateName": addon.GetName() + ".", "namespace": addonSpace},
			"involvedObject": map[string]any{
				"apiVersion": addonVersion, "kind": "Addon", "name": addon.GetName(),
				"namespace": addonSpace, "uid": string(addon.GetUID()),
			},
			"source":         map[string]any{"component": component},
			"firstTimestamp": now, "lastTimestamp": now, "count": int64(1),
		},
	}, metav1.CreateOptions{FieldManager: c.manager})
	if err != nil && ctx.Err() == nil {
		logrus.Warnf("Failed to record event %s of %s: %v", reason, addon.GetName(), err)
	}
}
