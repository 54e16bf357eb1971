package sandbox

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// B16: what tests bring about by annotations.

func TestB16IsAsIfDown(t *testing.T) {
	each(t, func(w *world) {
		w.sandbox(nil)
		w.annotate(knobDown, "true")
		w.mustPass()
		if w.get(pods, "box") != nil || w.box().Object["status"] != nil {
			t.Error("it did something")
		}
	})
}

func TestB16DelaysEachWrite(t *testing.T) {
	each(t, func(w *world) {
		w.sandbox(nil)
		w.annotate(knobDelay, "20ms")
		began := time.Now()
		w.mustPass()
		if took := time.Since(began); took < 80*time.Millisecond { // claim, pod, annotation, status
			t.Errorf("%v", took)
		}
	})
}

func TestB16HoldsAPodUntilTheKnobIsOff(t *testing.T) {
	each(t, func(w *world) {
		w.sandbox(nil)
		w.mustPass()
		w.annotate(knobHold, "true")
		w.mustPass()
		if len(w.get(pods, "box").GetFinalizers()) != 1 {
			t.Error("it is not held")
		}
		w.ask(false)
		w.mustPass()
		w.annotate(knobHold, "")
		w.mustPass()
		if len(w.get(pods, "box").GetFinalizers()) != 0 {
			t.Error("it is still held")
		}
	})
}

func TestB16LetsTheHeldPodOfAGoneSandboxGo(t *testing.T) {
	each(t, func(w *world) {
		w.sandbox(nil)
		w.annotate(knobHold, "true")
		w.mustPass()
		if err := w.client.Tracker().Delete(w.subject.Profile.sandboxes(), space, "box"); err != nil {
			t.Fatal(err)
		}
		w.mustPass()
		if len(w.get(pods, "box").GetFinalizers()) != 0 {
			t.Error("it is held for ever")
		}
	})
}

func TestB16FailsAClaim(t *testing.T) {
	each(t, func(w *world) {
		w.sandbox(nil)
		w.annotate(knobFailClaim, "workspace")
		if _, err := w.pass(); err == nil {
			t.Error("the claim was not refused")
		}
		w.expect(typeReady, "False/ReconcilerError@1")
		if w.get(claims, "workspace-box") != nil || w.get(pods, "box") == nil {
			t.Error("there is a claim, or no pod")
		}
		w.annotate(knobFailClaim, "")
		w.mustPass()
		if w.get(claims, "workspace-box") == nil {
			t.Error("the claim was not made up for")
		}
	})
}

func TestB16BumpsTheVersion(t *testing.T) {
	each(t, func(w *world) {
		w.sandbox(nil)
		w.annotate(knobBump, "50ms")
		after, err := w.pass()
		if err != nil || after != 50*time.Millisecond || w.box().GetAnnotations()[bumped] == "" {
			t.Errorf("%v %v %v", after, err, w.box().GetAnnotations())
		}
	})
}

func TestB16ShowsAStaleSuspended(t *testing.T) {
	each(t, func(w *world) {
		w.sandbox(nil)
		w.annotate(knobStale, "true")
		w.mustPass()
		w.run("box")
		w.mustPass()
		w.expect(typeReady, "True/DependenciesReady@1")
		w.expect(typeSuspended, "True/PodTerminated@1")
	})
}

func TestSeveralPodsAreAnErrorThatNobodyRetries(t *testing.T) {
	w := newWorld(t, "P3")
	box := w.sandbox(nil)
	w.mustPass()
	second := foreign("Pod", "second")
	second.SetOwnerReferences(nil)
	owners := second.GetOwnerReferences()
	second.SetOwnerReferences(append(owners, w.subject.ownerReference(box)))
	w.add(pods, second)
	w.ask(false)
	w.mustPass()
	w.mustPass()
	w.expect(typeReady, "False/MultiplePods@2")
	w.expect(typeSuspended, "Unknown/PodStateUnknown@2")
	found, err := w.client.Tracker().List(events, events.GroupVersion().WithKind("Event"), space)
	if err != nil || len(found.(*unstructured.UnstructuredList).Items) != 1 {
		t.Errorf("%v %v", found, err)
	}
}

func TestFlagsOfUpstreamAreTaken(t *testing.T) {
	options, err := Parse([]string{
		"--leader-elect", "--leader-election-namespace=a", "--metrics-bind-address=:1", "--extensions",
		"--health-probe-bind-address=:2", "--sandbox-concurrent-workers=3", "--kube-api-qps=-1",
		"--sandbox-write-behind-window=0", "--enable-tracing=false", "--webhook-port=9443",
	}, t.Output())
	if err != nil || options.Profile.Name != "P3" || options.Workers != 3 || options.Probes != ":2" {
		t.Errorf("%v %v", options, err)
	}
	for _, bad := range []string{"--profile=P4", "--unknown", "word"} {
		if _, err := Parse([]string{bad}, t.Output()); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

func TestNameHashIsUpstreams(t *testing.T) {
	for name, hash := range map[string]string{"box": "70c67e32", "alpha": "5d8b6dab", "beta": "af81e4c7"} {
		if got := nameHash(name); got != hash {
			t.Errorf("%s: %s", name, got)
		}
	}
}
