package sandbox

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// reconcileService makes, keeps or removes the headless Service. A stop does not touch it.
func (r *Reconciler) reconcileService(
	ctx context.Context, sandbox *unstructured.Unstructured, seen *children,
) error {
	wanted, isSet, _ := unstructured.NestedBool(sandbox.Object, "spec", "service")
	if r.Profile.AlwaysService {
		wanted, isSet = true, true
	}
	found, err := r.Client.Resource(services).Namespace(sandbox.GetNamespace()).Get(
		ctx, sandbox.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		if !wanted {
			return nil
		}
		seen.service, err = r.create(ctx, services, sandbox, r.buildService(sandbox))
		return wrapService(sandbox, err)
	}
	if err != nil {
		return wrapService(sandbox, err)
	}
	owner := controllerOf(found)
	switch {
	case owner != nil && owner.UID != sandbox.GetUID():
		return wrapService(sandbox, errors.New("is controlled by another object"))
	case owner == nil && !wanted:
		return nil
	case owner == nil && !r.mayAdopt(sandbox, found):
		return wrapService(sandbox, errors.New("has no controller and may not be adopted"))
	case owner == nil:
		err = r.adopt(ctx, services, sandbox, found)
	case isSet && !wanted:
		return wrapService(sandbox, r.remove(ctx, services, sandbox, found))
	}
	seen.service = found
	return wrapService(sandbox, err)
}

func wrapService(sandbox *unstructured.Unstructured, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("service %s: %w", sandbox.GetName(), err)
}

func (r *Reconciler) buildService(sandbox *unstructured.Unstructured) *unstructured.Unstructured {
	hash := nameHash(sandbox.GetName())
	spec := map[string]any{"clusterIP": "None", "selector": map[string]any{hashLabel: hash}}
	if r.Profile.ServicePorts {
		if ports := servicePorts(sandbox); len(ports) > 0 {
			spec["ports"] = ports
		}
	}
	service := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Service", "spec": spec,
	}}
	service.SetName(sandbox.GetName())
	service.SetLabels(map[string]string{hashLabel: hash})
	return service
}

// servicePorts returns one port for each distinct port of containers and of init containers that
// run all the time.
func servicePorts(sandbox *unstructured.Unstructured) []any {
	var ports []any
	done := map[string]bool{}
	for _, one := range servers(sandbox) {
		given, _, _ := unstructured.NestedSlice(one, "ports")
		for _, raw := range given {
			port, _ := raw.(map[string]any)
			protocol, _ := port["protocol"].(string)
			if protocol == "" {
				protocol = "TCP"
			}
			number, _ := port["containerPort"].(int64)
			key := fmt.Sprintf("p-%d-%s", number, strings.ToLower(protocol))
			if done[key] {
				continue
			}
			done[key] = true
			name, _ := port["name"].(string)
			if name == "" {
				name = key
			}
			ports = append(ports, map[string]any{
				"name": name, "port": number, "targetPort": number, "protocol": protocol,
			})
		}
	}
	return ports
}

func servers(sandbox *unstructured.Unstructured) []map[string]any {
	var found []map[string]any
	for _, part := range []string{"initContainers", "containers"} {
		raw, _, _ := unstructured.NestedSlice(sandbox.Object, "spec", "podTemplate", "spec", part)
		for _, one := range raw {
			container, _ := one.(map[string]any)
			if part == "containers" || container["restartPolicy"] == "Always" {
				found = append(found, container)
			}
		}
	}
	return found
}
