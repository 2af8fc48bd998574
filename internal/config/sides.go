package config

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/realmgate/realmgate/internal/schema"
)

// gatewayKeys are what a gateway has to give, and a single machine does not have: names and addresses for hosts inside.
var gatewayKeys = []string{"realm", "dns", "pool"}

// SingleFlows reports whether a machine with nobody behind it has chains, so that there are sessions of its own flows.
func (c *Config) SingleFlows() bool { return c.Interfaces.Single() && len(c.Chains) > 0 }

// checkSides wants all that a gateway needs, or nothing of it: a configuration without interfaces inside is that of a single
// machine, which protects itself.
func checkSides(faults *schema.Faults, root *yaml.Node) {
	if root == nil || root.Kind != yaml.MappingNode {
		return // that has been told
	}
	interfaces := schema.ValueOf(root, "interfaces")
	inside := interfaces == nil || schema.ValueOf(interfaces, "private") != nil
	gateway := inside
	for _, name := range gatewayKeys {
		gateway = gateway || schema.ValueOf(root, name) != nil
	}
	if !gateway {
		for _, name := range []string{"outbound.addresses", "web.addresses", "hosts"} {
			value := root
			for _, part := range strings.Split(name, ".") {
				if value != nil {
					value = schema.ValueOf(value, part)
				}
			}
			if value != nil && len(value.Content) > 0 {
				faults.Add(value.Line, "%s: that is for hosts inside: give interfaces.private, %s, too, or leave it out", name, strings.Join(gatewayKeys, ", "))
			}
		}
		return
	}
	if !inside {
		faults.Add(interfaces.Line, "interfaces: the key private is missing")
	}
	for _, name := range gatewayKeys {
		if schema.ValueOf(root, name) == nil {
			faults.Add(1, "the key %s is missing", name)
		}
	}
}
