package sandbox

import (
	"context"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
)

const space = "openshell"

// world is an API in memory: it gives UIDs, and a pod that is deleted terminates until the test
// lets it end, as with a kubelet that waits out the grace.
type world struct {
	t       *testing.T
	client  *fake.FakeDynamicClient
	subject *Reconciler
	now     time.Time
	made    int
}

func newWorld(t *testing.T, profile string) *world {
	t.Helper()
	chosen, err := ProfileOf(profile)
	if err != nil {
		t.Fatal(err)
	}
	lists := map[schema.GroupVersionResource]string{
		pods: "PodList", claims: "PersistentVolumeClaimList", services: "ServiceList",
		events: "EventList", chosen.sandboxes(): "SandboxList",
	}
	w := &world{t: t, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	w.client = fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists)
	w.client.PrependReactor("create", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		object := action.(clienttesting.CreateAction).GetObject().(*unstructured.Unstructured)
		w.made++
		object.SetUID(types.UID(fmt.Sprintf("uid-%d", w.made)))
		return false, nil, nil
	})
	w.client.PrependReactor("delete", "pods", w.terminate)
	w.subject = &Reconciler{Profile: chosen, Client: w.client, Domain: "cluster.local",
		Now: func() time.Time { return w.now }}
	return w
}

func (w *world) terminate(action clienttesting.Action) (bool, runtime.Object, error) {
	name := action.(clienttesting.DeleteAction).GetName()
	found, err := w.client.Tracker().Get(pods, space, name)
	if err != nil {
		return true, nil, err
	}
	pod := found.(*unstructured.Unstructured).DeepCopy()
	when := metav1.NewTime(w.now)
	pod.SetDeletionTimestamp(&when)
	return true, nil, w.client.Tracker().Update(pods, pod, space)
}

// endPod is the kubelet that is done with a pod.
func (w *world) endPod(name string) {
	w.t.Helper()
	if err := w.client.Tracker().Delete(pods, space, name); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) add(resource schema.GroupVersionResource, object *unstructured.Unstructured) *unstructured.Unstructured {
	w.t.Helper()
	object.SetNamespace(space)
	made, err := w.client.Resource(resource).Namespace(space).Create(
		context.Background(), object, metav1.CreateOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return made
}

// get returns nil for what is not there.
func (w *world) get(resource schema.GroupVersionResource, name string) *unstructured.Unstructured {
	w.t.Helper()
	found, err := w.client.Resource(resource).Namespace(space).Get(
		context.Background(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return found
}

func (w *world) change(resource schema.GroupVersionResource, name string, edit func(map[string]any)) {
	w.t.Helper()
	object := w.get(resource, name)
	edit(object.Object)
	if err := w.client.Tracker().Update(resource, object, space); err != nil {
		w.t.Fatal(err)
	}
}

// sandbox adds the sandbox `box`, with a claim.
func (w *world) sandbox(spec map[string]any) *unstructured.Unstructured {
	full := map[string]any{
		"podTemplate": map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"mine": "1"}},
			"spec": map[string]any{"containers": []any{map[string]any{
				"name": "agent", "ports": []any{map[string]any{"containerPort": int64(80)}},
			}}},
		},
		"volumeClaimTemplates": []any{map[string]any{
			"metadata": map[string]any{"name": "workspace"}, "spec": map[string]any{},
		}},
	}
	for key, value := range spec {
		full[key] = value
	}
	return w.add(w.subject.Profile.sandboxes(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": group + "/" + w.subject.Profile.Version, "kind": kind,
		"metadata": map[string]any{"name": "box", "generation": int64(1)}, "spec": full,
	}})
}

// ask changes the wish to run, as a client does: the generation counts.
func (w *world) ask(running bool) {
	w.change(w.subject.Profile.sandboxes(), "box", func(object map[string]any) {
		spec := object["spec"].(map[string]any)
		if w.subject.Profile.Replicas {
			spec["replicas"] = map[bool]int64{true: 1, false: 0}[running]
		} else {
			spec["operatingMode"] = map[bool]string{true: "Running", false: "Suspended"}[running]
		}
		metadata := object["metadata"].(map[string]any)
		metadata["generation"] = metadata["generation"].(int64) + 1
	})
}

func (w *world) annotate(key, value string) {
	w.change(w.subject.Profile.sandboxes(), "box", func(object map[string]any) {
		_ = unstructured.SetNestedField(object, value, "metadata", "annotations", key)
	})
}

// pass makes one pass and returns what it said.
func (w *world) pass() (time.Duration, error) {
	return w.subject.Reconcile(context.Background(), space, "box")
}

func (w *world) mustPass() {
	w.t.Helper()
	if _, err := w.pass(); err != nil {
		w.t.Fatal(err)
	}
}

// run makes the pod run, as a kubelet does.
func (w *world) run(name string) {
	w.phase(name, "Running", "True")
}

func (w *world) phase(name, phase, ready string) {
	w.change(pods, name, func(object map[string]any) {
		object["spec"].(map[string]any)["nodeName"] = "node"
		object["status"] = map[string]any{
			"phase": phase, "podIPs": []any{map[string]any{"ip": "10.0.0.9"}},
			"conditions": []any{
				map[string]any{"type": "PodScheduled", "status": "True"},
				map[string]any{"type": "Ready", "status": ready},
			},
		}
	})
}

func (w *world) box() *unstructured.Unstructured {
	return w.get(w.subject.Profile.sandboxes(), "box")
}

// says returns a condition as "True/Reason@generation"; empty for none.
func (w *world) says(kind string) string {
	w.t.Helper()
	found := meta.FindStatusCondition(conditionsOf(w.box()), kind)
	if found == nil {
		return ""
	}
	return fmt.Sprintf("%s/%s@%d", found.Status, found.Reason, found.ObservedGeneration)
}

func (w *world) expect(kind, wanted string) {
	w.t.Helper()
	if got := w.says(kind); got != wanted {
		w.t.Errorf("%s: %s is %q instead of %q", w.subject.Profile.Name, kind, got, wanted)
	}
}

func (w *world) status(key string) any {
	status, _, _ := unstructured.NestedMap(w.box().Object, "status")
	return status[key]
}

// by chooses what a profile is expected to show.
func (w *world) by(first, second, third string) string {
	return map[string]string{"P1": first, "P2": second, "P3": third}[w.subject.Profile.Name]
}

// each runs a test in every profile.
func each(t *testing.T, test func(*world)) {
	for _, profile := range []string{"P1", "P2", "P3"} {
		t.Run(profile, func(t *testing.T) { test(newWorld(t, profile)) })
	}
}
