package sandbox

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	group = "agents.x-k8s.io"
	kind  = "Sandbox"

	hashLabel             = group + "/sandbox-name-hash"
	createdByLabel        = group + "/created-by"
	adoptableLabel        = group + "/adoptable"
	podNameAnnotation     = group + "/pod-name"
	propagatedLabels      = group + "/propagated-labels"
	propagatedAnnotations = group + "/propagated-annotations"

	// creator and writer are upstream's field managers: of creates, and of everything else.
	creator = "sandbox-controller"
	writer  = "agent-sandbox-controller"
)

var (
	pods     = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	claims   = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}
	services = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	events   = schema.GroupVersionResource{Version: "v1", Resource: "events"}
)

func (p Profile) sandboxes() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: p.Version, Resource: "sandboxes"}
}

// nameHash is the value of the label that every child has.
func nameHash(name string) string {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(name)) // never fails
	return fmt.Sprintf("%08x", hash.Sum32())
}

// isSystemKey reports whether a key is the controller's own, which a template cannot set.
func isSystemKey(key string) bool {
	return strings.HasPrefix(key, group+"/") || strings.HasPrefix(key, "extensions."+group+"/")
}

// createdBy is the label's value as upstream normalises it.
func createdBy(value string) string {
	if slices.Contains([]string{"go-client", "python-client", "controller"}, value) {
		return value
	}
	return "unknown"
}

// controllerOf returns the owner reference that has `controller: true`; nil without one.
func controllerOf(object metav1.Object) *metav1.OwnerReference {
	return metav1.GetControllerOfNoCopy(object)
}

// sandboxOf returns the name of the Sandbox that controls a child; empty for any other's child.
func sandboxOf(object metav1.Object) string {
	owner := controllerOf(object)
	if owner == nil || owner.Kind != kind || !strings.HasPrefix(owner.APIVersion, group+"/") {
		return ""
	}
	return owner.Name
}
