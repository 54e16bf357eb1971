package sandbox

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Knobs bring about, for tests, what is rare. Each is an annotation of a Sandbox; Delay, Down and
// WatchLife are flags of the controller too, for all sandboxes.
const (
	knobs = "test.openshell.ai/"
	// knobDelay is a duration that passes before each write.
	knobDelay = knobs + "delay"
	// knobDown, if "true": the controller is as if down for this sandbox.
	knobDown = knobs + "down"
	// knobHold, if "true": the pod gets a finalizer, so that it stays in termination until the
	// annotation or the Sandbox is gone.
	knobHold = knobs + "hold-pod"
	// knobFailClaim is the name of a claim template whose claim is refused.
	knobFailClaim = knobs + "fail-claim"
	// knobBump is a duration: so often the Sandbox gets a new resourceVersion.
	knobBump = knobs + "bump"
	// knobStale, if "true": Suspended=True is shown whatever is so, as P2 does after a resume.
	knobStale = knobs + "stale-suspended"

	bumped        = knobs + "bumped"
	holdFinalizer = knobs + "hold"
)

func knob(sandbox *unstructured.Unstructured, name string) string {
	return sandbox.GetAnnotations()[name]
}

func isOn(sandbox *unstructured.Unstructured, name string) bool {
	return knob(sandbox, name) == "true"
}

// knobDuration is 0 where the knob is not there or no duration.
func knobDuration(sandbox *unstructured.Unstructured, name string) time.Duration {
	value, err := time.ParseDuration(knob(sandbox, name))
	if err != nil {
		return 0
	}
	return value
}

// pause lets the delay of each step pass.
func (r *Reconciler) pause(ctx context.Context, sandbox *unstructured.Unstructured) error {
	delay := max(r.Delay, knobDuration(sandbox, knobDelay))
	if delay <= 0 {
		return ctx.Err()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(delay):
		return nil
	}
}

// bump gives the Sandbox another resourceVersion, as a writer beside the client does.
func (r *Reconciler) bump(ctx context.Context, sandbox *unstructured.Unstructured) error {
	return r.annotate(ctx, sandbox, map[string]any{bumped: r.Now().UTC().Format(time.RFC3339Nano)})
}

// hold adds or removes the finalizer of a pod as the knob says.
func (r *Reconciler) hold(ctx context.Context, pod *unstructured.Unstructured, wanted bool) error {
	finalizers := pod.GetFinalizers()
	has := slices.Contains(finalizers, holdFinalizer)
	if has == wanted || wanted && pod.GetDeletionTimestamp() != nil {
		return nil
	}
	if wanted {
		finalizers = append(finalizers, holdFinalizer)
	} else {
		finalizers = slices.DeleteFunc(finalizers, func(one string) bool { return one == holdFinalizer })
	}
	return r.patch(ctx, pods, pod, map[string]any{"metadata": map[string]any{
		"finalizers": finalizers, "resourceVersion": pod.GetResourceVersion(),
	}})
}

// holdPods does so for all pods of a Sandbox, which may be gone.
func (r *Reconciler) holdPods(ctx context.Context, namespace, name string, wanted bool) error {
	found, err := r.labelled(ctx, namespace, name)
	if err != nil {
		return err
	}
	for index := range found {
		if sandboxOf(&found[index]) == name {
			if err := r.hold(ctx, &found[index], wanted); err != nil {
				return err
			}
		}
	}
	return nil
}
