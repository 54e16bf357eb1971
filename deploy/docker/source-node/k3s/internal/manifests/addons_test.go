package manifests

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
)

// fixedMapper knows the kinds of the tests.
type fixedMapper struct{ *meta.DefaultRESTMapper }

func (fixedMapper) Reset() {}

var (
	secretKind = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	configKind = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
)

func newController(t *testing.T) (*Controller, string) {
	t.Helper()
	mapper := meta.NewDefaultRESTMapper(nil)
	lists := map[schema.GroupVersionResource]string{
		addonResource: "AddonList", crdResource: "CustomResourceDefinitionList", eventResource: "EventList",
	}
	for _, kind := range []schema.GroupVersionKind{secretKind, configKind} {
		mapper.Add(kind, meta.RESTScopeNamespace)
		resource, _ := meta.UnsafeGuessKindToResource(kind)
		lists[resource] = kind.Kind + "List"
	}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists)
	client.PrependReactor("patch", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		patch := action.(clienttesting.PatchAction)
		object := &unstructured.Unstructured{}
		if err := json.Unmarshal(patch.GetPatch(), &object.Object); err != nil {
			return true, nil, err
		}
		err := client.Tracker().Create(patch.GetResource(), object, patch.GetNamespace())
		if apierrors.IsAlreadyExists(err) {
			err = client.Tracker().Update(patch.GetResource(), object, patch.GetNamespace())
		}
		return true, object, err
	})
	root := folder(t, map[string]string{})
	return &Controller{folder: root, manager: "test", client: client, mapper: fixedMapper{mapper},
		applied: map[string]time.Time{}}, root
}

func one(kind, name string) string {
	return "---\n{apiVersion: v1, kind: " + kind + ", metadata: {name: " + name + ", namespace: default}}\n"
}

// names lists what is there of a kind.
func names(t *testing.T, c *Controller, kind schema.GroupVersionKind) string {
	t.Helper()
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	listed, err := c.client.Resource(resource).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, item := range listed.Items {
		found = append(found, item.GetName())
	}
	slices.Sort(found)
	return strings.Join(found, " ")
}

func apply(t *testing.T, c *Controller, path, content string, always bool) {
	t.Helper()
	if err := c.applyFile(context.Background(), path, []byte(content), always); err != nil {
		t.Fatal(err)
	}
}

func TestAnObjectThatLeavesItsFileIsDeleted(t *testing.T) {
	c, _ := newController(t)
	apply(t, c, "/m/mine.yaml", one("Secret", "a")+one("ConfigMap", "b")+one("ConfigMap", "c"), true)
	apply(t, c, "/m/other.yaml", one("ConfigMap", "d"), true)
	// The last Secret leaves with its kind, which only the Addon still knows.
	apply(t, c, "/m/mine.yaml", one("ConfigMap", "b"), false)
	if secrets, configs := names(t, c, secretKind), names(t, c, configKind); secrets != "" || configs != "b d" {
		t.Errorf("%q %q", secrets, configs)
	}
}

func TestNothingIsDeletedWhereNotAllCouldBeApplied(t *testing.T) {
	c, _ := newController(t)
	apply(t, c, "/m/mine.yaml", one("ConfigMap", "a"), true)
	content := one("ConfigMap", "b") + one("Unheard", "c")
	if err := c.applyFile(context.Background(), "/m/mine.yaml", []byte(content), false); err == nil {
		t.Error("an unknown kind was taken")
	}
	if configs := names(t, c, configKind); configs != "a b" {
		t.Errorf("%q", configs)
	}
	apply(t, c, "/m/mine.yaml", one("ConfigMap", "b"), false)
	if configs := names(t, c, configKind); configs != "b" {
		t.Errorf("%q", configs)
	}
}

func TestTheAddonTellsSourceChecksumAndKinds(t *testing.T) {
	c, _ := newController(t)
	apply(t, c, "/m/mine.yaml", one("Secret", "a"), true)
	addon, err := c.addons().Get(context.Background(), "mine", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	source, _, _ := unstructured.NestedString(addon.Object, "spec", "source")
	if source != "/m/mine.yaml" || len(checksumOf(addon)) != 64 ||
		addon.GetAnnotations()[kindsAnnotation] != "/v1, Kind=Secret" {
		t.Errorf("%v", addon)
	}
	if kinds := recordedKinds(addon); len(kinds) != 1 || kinds[0] != secretKind {
		t.Errorf("%v", kinds)
	}
}

func TestAFileOfTheSameChecksumIsLeftAloneAfterTheFirstPass(t *testing.T) {
	c, _ := newController(t)
	apply(t, c, "/m/mine.yaml", one("ConfigMap", "a"), true)
	resource, _ := meta.UnsafeGuessKindToResource(configKind)
	if err := c.client.Resource(resource).Namespace("default").Delete(
		context.Background(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	apply(t, c, "/m/mine.yaml", one("ConfigMap", "a"), false)
	if configs := names(t, c, configKind); configs != "" {
		t.Errorf("it was applied: %q", configs)
	}
	apply(t, c, "/m/mine.yaml", one("ConfigMap", "a"), true)
	if configs := names(t, c, configKind); configs != "a" {
		t.Errorf("it was not applied: %q", configs)
	}
}

func TestARemovedFileLeavesItsObjects(t *testing.T) {
	c, root := newController(t)
	apply(t, c, root+"/mine.yaml", one("ConfigMap", "a"), true)
	c.pass(context.Background())
	if configs := names(t, c, configKind); configs != "a" {
		t.Errorf("%q", configs)
	}
}

func TestADisabledManifestGoesWithItsAddon(t *testing.T) {
	c, _ := newController(t)
	apply(t, c, "/m/mine.yaml", one("ConfigMap", "a")+one("Secret", "s"), true)
	apply(t, c, "/m/other.yaml", one("ConfigMap", "b"), true)
	c.removeObjects(context.Background(), "mine", []byte(one("ConfigMap", "a")+one("ConfigMap", "b")))
	if secrets, configs := names(t, c, secretKind), names(t, c, configKind); secrets != "" || configs != "b" {
		t.Errorf("%q %q", secrets, configs)
	}
	if _, err := c.addons().Get(context.Background(), "mine", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Addon is there: %v", err)
	}
}

func TestEventsTellWhatHappened(t *testing.T) {
	c, _ := newController(t)
	apply(t, c, "/m/mine.yaml", one("ConfigMap", "a"), true)
	if err := c.applyFile(context.Background(), "/m/bad.yaml", []byte("a: ["), true); err == nil {
		t.Error("nonsense was taken")
	}
	var reasons []string
	for _, action := range c.client.(*fake.FakeDynamicClient).Actions() {
		if action.Matches("create", "events") {
			event := action.(clienttesting.CreateAction).GetObject().(*unstructured.Unstructured)
			reasons = append(reasons, event.Object["reason"].(string))
		}
	}
	if got := strings.Join(reasons, " "); got != "ApplyingManifest AppliedManifest ParseManifestFailed" {
		t.Error(got)
	}
}

func TestTheHashIsWranglers(t *testing.T) {
	// As seen on CoreDNS's objects of real k3s clusters.
	if got := setHash("coredns"); got != "bce283298811743a0386ab510f2f67ef74240c57" {
		t.Error(got)
	}
}
