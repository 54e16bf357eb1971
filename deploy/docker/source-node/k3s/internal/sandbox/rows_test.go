package sandbox

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The tests are named after the rows of the table that the controller stands in for.

func TestB1MakesClaimPodAndService(t *testing.T) {
	each(t, func(w *world) {
		box := w.sandbox(map[string]any{})
		w.mustPass()
		claim, pod := w.get(claims, "workspace-box"), w.get(pods, "box")
		for _, child := range []*unstructured.Unstructured{claim, pod} {
			owner := controllerOf(child)
			if owner == nil || owner.UID != box.GetUID() || !*owner.BlockOwnerDeletion ||
				owner.APIVersion != "agents.x-k8s.io/"+w.by("v1alpha1", "v1beta1", "v1beta1") {
				t.Errorf("%s is controlled by %v", child.GetName(), owner)
			}
			if child.GetLabels()[hashLabel] != "70c67e32" || len(child.GetFinalizers()) > 0 {
				t.Errorf("%s: %v %v", child.GetName(), child.GetLabels(), child.GetFinalizers())
			}
		}
		volumes, _, _ := unstructured.NestedSlice(pod.Object, "spec", "volumes")
		if fmt.Sprint(volumes) != "[map[name:workspace persistentVolumeClaim:map[claimName:workspace-box]]]" {
			t.Errorf("%v", volumes)
		}
		if pod.GetLabels()["mine"] != "1" || pod.GetAnnotations()[propagatedLabels] != "mine" {
			t.Errorf("%v %v", pod.GetLabels(), pod.GetAnnotations())
		}
		if has := w.get(services, "box") != nil; has != w.subject.Profile.AlwaysService {
			t.Errorf("a Service is there: %v", has)
		}
	})
}

func TestB1MakesAServiceThatIsAskedFor(t *testing.T) {
	each(t, func(w *world) {
		w.sandbox(map[string]any{"service": true})
		w.mustPass()
		ports, has, _ := unstructured.NestedSlice(w.get(services, "box").Object, "spec", "ports")
		if has != w.subject.Profile.ServicePorts || has && ports[0].(map[string]any)["name"] != "p-80-tcp" {
			t.Errorf("%v", ports)
		}
		if w.status("serviceFQDN") != "box.openshell.svc.cluster.local" {
			t.Errorf("%v", w.status("serviceFQDN"))
		}
	})
}

func TestB2ShowsWhatIsSo(t *testing.T) {
	each(t, func(w *world) {
		w.sandbox(nil)
		w.mustPass()
		w.expect(typeReady, "False/DependenciesNotReady@1")
		w.expect(typeSuspended, w.by("", "", "False/NotSuspended@1"))
		w.expect(typeScheduled, w.by("", "", "Unknown/PodSchedulingUnknown@1"))
		if w.status("selector") != hashLabel+"=70c67e32" {
			t.Errorf("%v", w.status("selector"))
		}
		w.run("box")
		w.mustPass()
		w.expect(typeReady, "True/DependenciesReady@1")
		w.expect(typeScheduled, w.by("", "", "True/PodScheduled@1"))
		if got := fmt.Sprintf("%v %v %v", w.status("podIPs"), w.status("nodeName"), w.status("replicas")); got !=
			w.by("[10.0.0.9] <nil> 1", "[10.0.0.9] node <nil>", "[10.0.0.9] node <nil>") {
			t.Error(got)
		}
		before := len(w.client.Actions())
		w.mustPass()
		for _, action := range w.client.Actions()[before:] {
			if verb := action.GetVerb(); verb != "get" && verb != "list" {
				t.Errorf("a pass that changes nothing wrote: %v", action)
			}
		}
	})
}

func TestB3PublishesThePodName(t *testing.T) {
	each(t, func(w *world) {
		w.sandbox(nil)
		w.mustPass()
		if w.box().GetAnnotations()[podNameAnnotation] != "box" {
			t.Errorf("%v", w.box().GetAnnotations())
		}
	})
}

func TestB4B5StopsAndKeepsTheClaim(t *testing.T) {
	each(t, func(w *world) {
		w.sandbox(map[string]any{"service": true})
		w.mustPass()
		w.run("box")
		w.mustPass()
		claim := w.get(claims, "workspace-box").GetUID()
		w.ask(false)
		w.mustPass()
		w.mustPass()
		w.expect(typeReady, w.by("True/DependenciesReady@2", "False/SandboxSuspended@2", "False/SandboxSuspended@2"))
		w.expect(typeSuspended, w.by("", "True/PodTerminated@2", "False/PodTerminating@2"))
		if w.get(pods, "box").GetDeletionTimestamp() == nil {
			t.Error("the pod was not deleted")
		}
		if (w.status("podIPs") != nil) != w.subject.Profile.WaitsForPod {
			t.Errorf("%v", w.status("podIPs"))
		}
		if w.subject.Profile.Replicas && w.status("replicas") != int64(0) {
			t.Errorf("%v", w.status("replicas"))
		}
		w.endPod("box")
		w.mustPass()
		w.expect(typeSuspended, w.by("", "True/PodTerminated@2", "True/PodTerminated@2"))
		w.expect(typeScheduled, "")
		if w.status("podIPs") != nil || w.box().GetAnnotations()[podNameAnnotation] != "" {
			t.Errorf("%v %v", w.status("podIPs"), w.box().GetAnnotations())
		}
		if w.get(claims, "workspace-box").GetUID() != claim || w.get(services, "box") == nil {
			t.Error("a stop took the claim or the Service")
		}
	})
}

func TestB6StartsANewPodOnTheSameClaim(t *testing.T) {
	each(t, func(w *world) {
		w.sandbox(nil)
		w.mustPass()
		claim, pod := w.get(claims, "workspace-box").GetUID(), w.get(pods, "box").GetUID()
		w.ask(false)
		w.mustPass()
		w.endPod("box")
		w.mustPass()
		w.ask(true)
		w.mustPass()
		w.expect(typeReady, "False/DependenciesNotReady@3")
		w.expect(typeSuspended, w.by("", "True/PodTerminated@2", "False/NotSuspended@3"))
		w.run("box")
		w.mustPass()
		w.expect(typeReady, "True/DependenciesReady@3")
		if w.get(pods, "box").GetUID() == pod || w.get(claims, "workspace-box").GetUID() != claim {
			t.Error("not a new pod on the old claim")
		}
	})
}

func TestB7FollowsADyingPod(t *testing.T) {
	each(t, func(w *world) {
		w.sandbox(nil)
		w.mustPass()
		w.run("box")
		w.mustPass()
		dying := w.get(pods, "box").GetUID()
		w.ask(false)
		w.mustPass()
		w.ask(true)
		w.mustPass()
		w.expect(typeReady, "True/DependenciesReady@3")
		if w.get(pods, "box").GetUID() != dying {
			t.Error("there is another pod")
		}
		w.endPod("box")
		w.mustPass()
		w.expect(typeReady, "False/DependenciesNotReady@3")
		if w.get(pods, "box").GetUID() == dying {
			t.Error("there is no new pod")
		}
	})
}

func TestB8LeavesAFinishedPodInPlace(t *testing.T) {
	for _, phase := range []string{"Failed", "Succeeded"} {
		each(t, func(w *world) {
			w.sandbox(nil)
			w.mustPass()
			pod := w.get(pods, "box").GetUID()
			w.phase("box", phase, "False")
			w.mustPass()
			w.expect(typeFinished, "True/Pod"+phase+"@1")
			named := "False/Pod" + phase + "@1"
			w.expect(typeReady, w.by("False/DependenciesNotReady@1", named, named))
			if found := w.get(pods, "box"); found.GetUID() != pod || found.GetDeletionTimestamp() != nil {
				t.Error("the pod was replaced")
			}
		})
	}
}

func TestB9ReplacesAPodThatIsGone(t *testing.T) {
	each(t, func(w *world) {
		w.sandbox(nil)
		w.mustPass()
		pod := w.get(pods, "box").GetUID()
		w.endPod("box")
		w.mustPass()
		if found := w.get(pods, "box"); found == nil || found.GetUID() == pod {
			t.Error("there is no new pod")
		}
	})
}

func foreign(kind, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": kind, "spec": map[string]any{},
		"metadata": map[string]any{"name": name, "ownerReferences": []any{map[string]any{
			"apiVersion": group + "/v1beta1", "kind": "Sandbox", "name": "box", "uid": "another",
			"controller": true,
		}}},
	}}
	object.SetLabels(map[string]string{hashLabel: nameHash("box")})
	return object
}

func TestB10RefusesAnothersPod(t *testing.T) {
	each(t, func(w *world) {
		w.add(pods, foreign("Pod", "box"))
		w.sandbox(nil)
		if _, err := w.pass(); err == nil {
			t.Error("nothing would be retried")
		}
		w.expect(typeReady, "False/ReconcilerError@1")
		w.ask(false)
		w.mustPass()
		w.expect(typeSuspended, w.by("", "True/PodTerminated@2", "False/PodNotOwned@2"))
		if w.get(pods, "box").GetDeletionTimestamp() != nil {
			t.Error("another's pod was deleted")
		}
	})
}

func TestB10B11RefusesAnothersClaimAndMakesThePod(t *testing.T) {
	each(t, func(w *world) {
		w.add(claims, foreign("PersistentVolumeClaim", "workspace-box"))
		w.sandbox(nil)
		if _, err := w.pass(); err == nil {
			t.Error("nothing would be retried")
		}
		w.expect(typeReady, "False/ReconcilerError@1")
		if w.get(pods, "box") == nil {
			t.Error("no pod was made")
		}
	})
}

func TestB12AdoptsOrphans(t *testing.T) {
	for name, labels := range map[string]map[string]string{
		"bare": nil, "hash": {hashLabel: "70c67e32"}, "adoptable": {adoptableLabel: "true"},
	} {
		each(t, func(w *world) {
			for resource, orphan := range map[string]*unstructured.Unstructured{
				"Pod": foreign("Pod", "box"), "Claim": foreign("PersistentVolumeClaim", "workspace-box"),
			} {
				orphan.SetOwnerReferences(nil)
				orphan.SetLabels(labels)
				if resource == "Pod" {
					w.add(pods, orphan)
				} else {
					w.add(claims, orphan)
				}
			}
			box := w.sandbox(nil)
			_, err := w.pass()
			may := name != "bare" || w.subject.Profile.AdoptsAnyOrphan
			if (err == nil) != may {
				t.Errorf("%s: %v", name, err)
			}
			for _, child := range []*unstructured.Unstructured{w.get(pods, "box"), w.get(claims, "workspace-box")} {
				owner := controllerOf(child)
				if (owner != nil && owner.UID == box.GetUID()) != may {
					t.Errorf("%s: %s is controlled by %v", name, child.GetName(), owner)
				}
			}
		})
	}
}

func TestB13LeavesDeletionToOthers(t *testing.T) {
	each(t, func(w *world) {
		w.sandbox(nil)
		w.mustPass()
		if len(w.box().GetFinalizers()) > 0 {
			t.Error("it has a finalizer")
		}
		w.change(w.subject.Profile.sandboxes(), "box", func(object map[string]any) {
			object["metadata"].(map[string]any)["deletionTimestamp"] = "2026-01-01T00:00:00Z"
		})
		w.endPod("box")
		w.mustPass()
		if w.get(pods, "box") != nil {
			t.Error("a pod was made for a sandbox that is being deleted")
		}
	})
}

func TestB14ExpiresInTwoPasses(t *testing.T) {
	each(t, func(w *world) {
		w.sandbox(map[string]any{"service": true, "shutdownTime": "2026-01-02T03:05:05Z"})
		if after, err := w.pass(); err != nil || after != time.Minute {
			t.Errorf("%v %v", after, err)
		}
		w.run("box")
		w.now = w.now.Add(time.Minute)
		after, err := w.pass()
		if err != nil || after != time.Millisecond || w.get(pods, "box").GetDeletionTimestamp() != nil {
			t.Errorf("the first pass did more than to say so: %v %v", after, err)
		}
		w.expect(typeReady, "False/SandboxExpired@1")
		w.mustPass()
		if w.get(pods, "box").GetDeletionTimestamp() == nil || w.get(services, "box") != nil {
			t.Error("the pod or the Service stays")
		}
		if w.get(claims, "workspace-box") == nil || w.box() == nil {
			t.Error("the claim or the sandbox went")
		}
		w.expect(typeScheduled, "")
		w.expect(typeSuspended, w.by("", "", "False/NotSuspended@1"))
		if w.status("selector") != nil {
			t.Error("more than conditions is left")
		}
		w.endPod("box")
		w.change(w.subject.Profile.sandboxes(), "box", func(object map[string]any) {
			object["spec"].(map[string]any)["shutdownTime"] = "2026-01-02T04:00:00Z"
		})
		w.mustPass()
		if w.get(pods, "box") == nil {
			t.Error("it was not revived")
		}
	})
}

func TestB14DeletesIfThePolicySaysSo(t *testing.T) {
	each(t, func(w *world) {
		w.sandbox(map[string]any{"shutdownTime": "2026-01-02T03:04:05Z", "shutdownPolicy": "Delete"})
		w.mustPass()
		w.mustPass()
		if w.box() != nil {
			t.Error("the sandbox is still there")
		}
	})
}

func TestB15PushesLabelsAndNeverRestarts(t *testing.T) {
	each(t, func(w *world) {
		w.sandbox(nil)
		w.mustPass()
		pod := w.get(pods, "box").GetUID()
		w.change(w.subject.Profile.sandboxes(), "box", func(object map[string]any) {
			template := object["spec"].(map[string]any)["podTemplate"].(map[string]any)
			template["metadata"] = map[string]any{"labels": map[string]any{"new": "2"}}
			template["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any)["image"] = "other"
		})
		w.mustPass()
		now := w.get(pods, "box")
		containers, _, _ := unstructured.NestedSlice(now.Object, "spec", "containers")
		if now.GetUID() != pod || now.GetDeletionTimestamp() != nil || containers[0].(map[string]any)["image"] != nil {
			t.Error("a template change reached the pod")
		}
		labels := now.GetLabels()
		if labels["new"] != "2" || labels["mine"] != "" || labels[hashLabel] == "" ||
			now.GetAnnotations()[propagatedLabels] != "new" {
			t.Errorf("%v %v", labels, now.GetAnnotations())
		}
	})
}
