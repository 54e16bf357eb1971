package sandbox

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const reasonExpired = "SandboxExpired"

// lifetime returns what is left until the sandbox's shutdown time, if it has one.
func (r *Reconciler) lifetime(sandbox *unstructured.Unstructured) (rest time.Duration, has bool) {
	text, _, _ := unstructured.NestedString(sandbox.Object, "spec", "shutdownTime")
	when, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return 0, false
	}
	return when.Sub(r.Now()), true
}

// expire says so in its first pass and acts in the second. Claims stay under Retain; under Delete
// they go with the Sandbox.
func (r *Reconciler) expire(ctx context.Context, sandbox *unstructured.Unstructured) (time.Duration, error) {
	conditions := conditionsOf(sandbox)
	ready := meta.FindStatusCondition(conditions, typeReady)
	status, _, _ := unstructured.NestedMap(sandbox.Object, "status")
	if ready == nil || ready.Reason != reasonExpired {
		meta.SetStatusCondition(&conditions, metav1.Condition{
			Type: typeReady, Status: metav1.ConditionFalse, Reason: reasonExpired,
			Message: "Sandbox has expired", ObservedGeneration: sandbox.GetGeneration(),
		})
		if status == nil {
			status = map[string]any{}
		}
		status["conditions"] = raw(conditions)
		return time.Millisecond, r.writeStatus(ctx, sandbox, status)
	}
	if err := r.removeChildren(ctx, sandbox); err != nil {
		return 0, err
	}
	if policy, _, _ := unstructured.NestedString(sandbox.Object, "spec", "shutdownPolicy"); policy == "Delete" {
		return 0, r.remove(ctx, r.Profile.sandboxes(), sandbox, sandbox)
	}
	meta.RemoveStatusCondition(&conditions, typeScheduled)
	return 0, r.writeStatus(ctx, sandbox, map[string]any{"conditions": raw(conditions)})
}

// removeChildren deletes the own Pod and the own Service of an expired sandbox.
func (r *Reconciler) removeChildren(ctx context.Context, sandbox *unstructured.Unstructured) error {
	own, err := r.ownPods(ctx, sandbox)
	if err != nil {
		return err
	}
	for index := range own {
		if own[index].GetDeletionTimestamp() == nil {
			if err := r.remove(ctx, pods, sandbox, &own[index]); err != nil {
				return err
			}
		}
	}
	found, err := r.Client.Resource(services).Namespace(sandbox.GetNamespace()).Get(
		ctx, sandbox.GetName(), metav1.GetOptions{})
	if err != nil {
		return ignoreNotFound(err)
	}
	if owner := controllerOf(found); owner != nil && owner.UID == sandbox.GetUID() {
		return r.remove(ctx, services, sandbox, found)
	}
	return nil
}

// reportMany records the only event that the controller makes. Its failure changes nothing.
func (r *Reconciler) reportMany(
	ctx context.Context, sandbox *unstructured.Unstructured, own []unstructured.Unstructured,
) {
	ready := meta.FindStatusCondition(conditionsOf(sandbox), typeReady)
	if ready != nil && ready.Reason == "MultiplePods" {
		return
	}
	names := make([]string, 0, len(own))
	for index := range own {
		names = append(names, own[index].GetName())
	}
	now := r.Now().UTC().Format(time.RFC3339)
	_, _ = r.Client.Resource(events).Namespace(sandbox.GetNamespace()).Create(ctx,
		&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Event",
			"metadata": map[string]any{"generateName": sandbox.GetName() + ".", "namespace": sandbox.GetNamespace()},
			"involvedObject": map[string]any{
				"apiVersion": group + "/" + r.Profile.Version, "kind": kind, "name": sandbox.GetName(),
				"namespace": sandbox.GetNamespace(), "uid": string(sandbox.GetUID()),
			},
			"type": "Warning", "reason": "MultiplePods",
			"message":        fmt.Sprintf("Pods %s are all controlled by this Sandbox", strings.Join(names, ", ")),
			"source":         map[string]any{"component": creator},
			"firstTimestamp": now, "lastTimestamp": now, "count": int64(1),
		}}, metav1.CreateOptions{FieldManager: creator})
}
