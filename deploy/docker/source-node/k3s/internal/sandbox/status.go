package sandbox

import (
	"context"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// status is the status that the sandbox should have, given what a pass saw.
func (r *Reconciler) status(sandbox *unstructured.Unstructured, seen children) map[string]any {
	pod := typed(seen.pod)
	status := map[string]any{"selector": hashLabel + "=" + nameHash(sandbox.GetName())}
	if seen.service != nil {
		status["service"] = sandbox.GetName()
		status["serviceFQDN"] = sandbox.GetName() + "." + sandbox.GetNamespace() + ".svc." + r.Domain
	}
	if ips := addresses(pod); len(ips) > 0 {
		status["podIPs"] = ips
	}
	if r.Profile.Replicas {
		status["replicas"] = int64(0)
		if pod != nil {
			status["replicas"] = int64(1)
		}
	} else if pod != nil && pod.Spec.NodeName != "" {
		status["nodeName"] = pod.Spec.NodeName
	}
	conditions := conditionsOf(sandbox)
	view := view{profile: r.Profile, suspended: r.isSuspended(sandbox), children: seen, pod: pod}
	view.needsService = r.needsService(sandbox)
	view.write(&conditions, sandbox.GetGeneration())
	if isOn(sandbox, knobStale) {
		// A generation of the past, as one that was written before a resume has.
		meta.SetStatusCondition(&conditions, metav1.Condition{
			Type: typeSuspended, Status: metav1.ConditionTrue, Reason: "PodTerminated",
			Message: "Pod is terminated", ObservedGeneration: max(sandbox.GetGeneration()-1, 1),
		})
	}
	status["conditions"] = raw(conditions)
	return status
}

func (r *Reconciler) needsService(sandbox *unstructured.Unstructured) bool {
	wanted, _, _ := unstructured.NestedBool(sandbox.Object, "spec", "service")
	return wanted || r.Profile.AlwaysService
}

// writeStatus writes what differs, by one merge patch; lists are replaced whole.
func (r *Reconciler) writeStatus(
	ctx context.Context, sandbox *unstructured.Unstructured, status map[string]any,
) error {
	now, _, _ := unstructured.NestedMap(sandbox.Object, "status")
	change := map[string]any{}
	for key, value := range status {
		if !reflect.DeepEqual(now[key], value) {
			change[key] = value
		}
	}
	for key := range now {
		if _, stays := status[key]; !stays {
			change[key] = nil
		}
	}
	_, hasNode := change["nodeName"]
	if len(change) == 0 || len(change) == 1 && hasNode && !isReady(conditionsOf(sandbox)) {
		return nil
	}
	if err := r.pause(ctx, sandbox); err != nil {
		return err
	}
	body := map[string]any{"status": change}
	if r.Profile.LocksStatus {
		// The pass itself may have written the pod's name since.
		fresh, err := r.sandboxes(sandbox.GetNamespace()).Get(ctx, sandbox.GetName(), metav1.GetOptions{})
		if err != nil {
			return ignoreNotFound(err)
		}
		if fresh.GetUID() != sandbox.GetUID() || fresh.GetGeneration() != sandbox.GetGeneration() {
			return nil // that change is an event, which brings the next pass
		}
		body["metadata"] = map[string]any{"resourceVersion": fresh.GetResourceVersion()}
	} else {
		body["metadata"] = map[string]any{"uid": string(sandbox.GetUID())}
	}
	return ignoreNotFound(r.patch(ctx, r.Profile.sandboxes(), sandbox, body, "status"))
}

func isReady(conditions []metav1.Condition) bool {
	return meta.IsStatusConditionTrue(conditions, typeReady)
}

func addresses(pod *corev1.Pod) []any {
	if pod == nil {
		return nil
	}
	var ips []any
	for _, one := range pod.Status.PodIPs {
		ips = append(ips, one.IP)
	}
	return ips
}

// typed returns the pod with its fields named; nil for nil.
func typed(object *unstructured.Unstructured) *corev1.Pod {
	if object == nil {
		return nil
	}
	pod := &corev1.Pod{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, pod); err != nil {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: object.GetName(), UID: object.GetUID()}}
	}
	return pod
}

func conditionsOf(sandbox *unstructured.Unstructured) []metav1.Condition {
	given, _, _ := unstructured.NestedSlice(sandbox.Object, "status", "conditions")
	var conditions []metav1.Condition
	for _, one := range given {
		values, _ := one.(map[string]any)
		condition := metav1.Condition{}
		if runtime.DefaultUnstructuredConverter.FromUnstructured(values, &condition) == nil {
			conditions = append(conditions, condition)
		}
	}
	return conditions
}

func raw(conditions []metav1.Condition) []any {
	out := []any{}
	for index := range conditions {
		values, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&conditions[index])
		if err == nil { // a Condition is always convertible
			out = append(out, values)
		}
	}
	return out
}
