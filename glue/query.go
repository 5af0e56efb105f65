package glue

import (
	"maps"
	"slices"
	"strings"
)

// Query is one search of an LDAP server: a filter (RFC 4515) and the
// attributes to send. The object class is not among them: the entries of one
// query name themselves alike, which is enough for a Decoder.
type Query struct {
	What   string // for messages: GlueCE, GLUE2ComputingShare ...
	Filter string
	Attrs  []string
	kind   kind // of the entries that it finds; kindNone: of no kind that is told by its name
}

// Queries13 are the searches below o=grid that tell all a Decoder uses of GLUE
// 1.3: clusters first, as they tell how much more there may be. With a VO only queues and views that name it are asked for. extra names
// attributes to send besides.
func Queries13(vo string, extra []string) []Query {
	acl := ""
	if vo != "" {
		vo = escapeFilter(vo)
		acl = "(|(GlueCEAccessControlBaseRule=VO:" + vo + ")(GlueCEAccessControlBaseRule=VOMS:/" + vo + "/*)(GlueCEAccessControlBaseRule=VOMS:/" + vo + "))"
	}
	return []Query{
		query("GlueCluster", "", clusterAttrs, extra),
		query("GlueSubCluster", "", subclusterAttrs, extra),
		query("GlueCE", acl, ceAttrs, extra),
		query("GlueVOView", acl, viewAttrs, extra),
		query("GlueCESEBind", "", bindAttrs, nil),
		query("GlueSE", "", seAttrs, nil),
		query("GlueService", serviceFilter(), service13Attrs, nil),
	}
}

// Queries20 are the searches below o=glue that tell all a Decoder uses of GLUE
// 2.0.
func Queries20(extra []string) []Query {
	return []Query{
		query("GLUE2ComputingService", "", serviceAttrs, nil),
		query("GLUE2ComputingManager", "", managerAttrs, extra),
		query("GLUE2ComputingShare", "", shareAttrs, extra),
		query("GLUE2MappingPolicy", "", mappingAttrs, nil),
		query("GLUE2ComputingEndpoint", "", endpointAttrs, nil),
		query("GLUE2ExecutionEnvironment", "", envAttrs, extra),
		query("GLUE2Benchmark", "", benchmarkAttrs, nil),
		query("GLUE2ApplicationEnvironment", "", appAttrs, nil),
	}
}

// QueriesARC are the searches below o=grid for ARC's own schema.
func QueriesARC(extra []string) []Query {
	return []Query{
		query("nordugrid-cluster", "", ngClusterAttrs, extra),
		query("nordugrid-queue", "", ngQueueAttrs, extra),
	}
}

func query[T any](class, also string, table setters[T], extra []string) Query {
	filter := "(objectClass=" + class + ")"
	if also != "" {
		filter = "(&" + filter + also + ")"
	}
	return Query{What: class, Filter: filter, Attrs: slices.Concat(slices.Sorted(maps.Keys(table)), extra), kind: kinds[strings.ToLower(class)]}
}

// escapeFilter escapes a value in a filter (RFC 4515 section 3).
func escapeFilter(s string) string {
	return strings.NewReplacer(`\`, `\5c`, `*`, `\2a`, `(`, `\28`, `)`, `\29`, "\x00", `\00`).Replace(s)
}
