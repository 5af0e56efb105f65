package jdl

import (
	"slices"
	"strconv"
	"strings"

	"gridbroker/jdl/classad"
)

// An EnvironmentWish is one runtime environment of Demand.RuntimeEnvironments: a tag, or a name with a bound on its
// version, NAME>=VERSION, as ARC's xRSL and ADL have it. The tag of a version is NAME-VERSION.
type EnvironmentWish struct {
	Name    string
	Op      string // >=, >, <=, <, != or ==; empty: Name is the tag itself
	Version string
}

// versionOps are the relations of versions; longer ones come first, since they begin like the shorter.
var versionOps = []string{">=", "<=", "!=", "==", ">", "<"}

// ParseEnvironmentWish reads a wish as Demand has it. A text without a relation, or with nothing on one of its sides, is
// a tag.
func ParseEnvironmentWish(text string) EnvironmentWish {
	if at := strings.IndexAny(text, "<>!="); at > 0 {
		for _, op := range versionOps {
			if version, ok := strings.CutPrefix(text[at:], op); ok && version != "" && !strings.ContainsAny(version, "<>!=") {
				return EnvironmentWish{text[:at], op, version}
			}
		}
	}
	return EnvironmentWish{Name: text}
}

// VersionWish is what a relation of xRSL or ADL to a whole tag asks for: NAME-VERSION is taken apart at the first '-'
// before a digit, as ARC's clients do. A tag without a version has none to compare, and ok is false.
func VersionWish(tag, op string) (wish string, ok bool) {
	name, version := splitVersion(tag)
	if op == "=" {
		op = "=="
	}
	if version == "" || !slices.Contains(versionOps, op) {
		return tag, false
	}
	return EnvironmentWish{name, op, version}.String(), true
}

// String is the wish as Demand has it.
func (w EnvironmentWish) String() string { return w.Name + w.Op + w.Version }

// Tag is the wish's whole tag; with a bound, the one that bounds.
func (w EnvironmentWish) Tag() string {
	if w.Op == "" {
		return w.Name
	}
	return w.Name + "-" + w.Version
}

// Meets tells whether a published tag is what is wished. Names are compared without regard to case, as LDAP and
// ClassAds do, versions by their numbers, part by part: 1.10 is more than 1.9. Versions that cannot be compared meet
// nothing but !=.
func (w EnvironmentWish) Meets(tag string) bool {
	if w.Op == "" {
		return classad.EqualFold(w.Name, tag)
	}
	if len(tag) <= len(w.Name)+1 || tag[len(w.Name)] != '-' || !classad.EqualFold(w.Name, tag[:len(w.Name)]) {
		return false
	}
	version := tag[len(w.Name)+1:]
	if version[0] < '0' || version[0] > '9' {
		return false // another software, whose name begins alike
	}
	order, ok := compareVersions(version, w.Version)
	switch w.Op {
	case ">=":
		return ok && order >= 0
	case ">":
		return ok && order > 0
	case "<=":
		return ok && order <= 0
	case "<":
		return ok && order < 0
	case "==":
		return ok && order == 0
	}
	return !ok || order != 0
}

// Best is the published tag that meets the wish, as it is published; of several versions the highest.
func (w EnvironmentWish) Best(tags []string) (best string, ok bool) {
	highest := ""
	for _, tag := range tags {
		if !w.Meets(tag) {
			continue
		}
		if w.Op == "" {
			return tag, true
		}
		version := tag[len(w.Name)+1:]
		if order, comparable := compareVersions(version, highest); !ok || comparable && order > 0 {
			best, highest, ok = tag, version, true
		}
	}
	return best, ok
}

// splitVersion takes a tag apart at the first '-' before a digit.
func splitVersion(tag string) (name, version string) {
	for i := 0; i+1 < len(tag); i++ {
		if tag[i] == '-' && tag[i+1] >= '0' && tag[i+1] <= '9' {
			return tag[:i], tag[i+1:]
		}
	}
	return tag, ""
}

// compareVersions compares parts between '.' and '-' as numbers; more parts are more. Parts that differ and are no
// numbers have no order.
func compareVersions(a, b string) (order int, ok bool) {
	split := func(s string) []string {
		return strings.FieldsFunc(s, func(r rune) bool { return r == '.' || r == '-' })
	}
	as, bs := split(a), split(b)
	for i := range min(len(as), len(bs)) {
		if as[i] == bs[i] {
			continue
		}
		x, errX := strconv.ParseUint(as[i], 10, 64)
		y, errY := strconv.ParseUint(bs[i], 10, 64)
		switch {
		case errX != nil || errY != nil:
			return 0, false
		case x > y:
			return 1, true
		case x < y:
			return -1, true
		}
	}
	return len(as) - len(bs), true
}

// InTags is the job as it is sent to a resource with these tags: each runtime environment by the exact tag that is
// published there, since batch systems and A-REX compare capital letters and know no relations of versions. What is not
// published stays as it is.
func (j *Job) InTags(tags []string) *Job {
	exact := make([]string, 0, len(j.Demand.RuntimeEnvironments))
	for _, wish := range j.Demand.RuntimeEnvironments {
		if tag, ok := ParseEnvironmentWish(wish).Best(tags); ok {
			wish = tag
		}
		exact = append(exact, wish)
	}
	if slices.Equal(exact, j.Demand.RuntimeEnvironments) {
		return j
	}
	with := *j
	with.Demand.RuntimeEnvironments = exact
	with.Demand.RuntimeOptions = make(map[string][]string, len(j.Demand.RuntimeOptions))
	for i, wish := range j.Demand.RuntimeEnvironments {
		if options := j.Demand.RuntimeOptions[wish]; len(options) > 0 {
			with.Demand.RuntimeOptions[exact[i]] = options
		}
	}
	return &with
}

// EnvironmentClause is the expression that asks for a runtime environment of Demand: the attribute RunTimeEnvironment,
// or a conjunct of Requirements; nil where neither names it.
func (j *Job) EnvironmentClause(wish string) (attribute string, e classad.Expr) {
	for _, conjunct := range classad.Conjuncts(j.Requirements) {
		if call, ok := conjunct.(*classad.Call); ok && isTagCall(call) {
			if tag, ok := j.Ad.Eval(call.Args[0], nil).Str(); ok && tag == wish {
				return "Requirements", conjunct
			}
		}
	}
	names := []string{"RunTimeEnvironment", "Tags", "Tag"}
	if types, _ := GPUTypes([]string{wish}); len(types) > 0 {
		names = append([]string{"GPUModel"}, names...)
	}
	if classad.EqualFold(wish, UserImageTag) {
		names = append([]string{"ContainerImage"}, names...)
	}
	for _, name := range names {
		if e, ok := j.Ad.Expr(name); ok {
			return name, e
		}
	}
	return "", nil
}

// tagAttributes are the published attributes that hold tags.
var tagAttributes = []string{"GlueHostApplicationSoftwareRunTimeEnvironment", "GLUE2ApplicationEnvironmentAppName"}

// isTagCall recognises Member("tag", other.GlueHostApplicationSoftwareRunTimeEnvironment).
func isTagCall(e *classad.Call) bool {
	if !classad.EqualFold(e.Name, "member") && !classad.EqualFold(e.Name, "isMember") || len(e.Args) != 2 {
		return false
	}
	name := otherName(e.Args[1])
	return slices.ContainsFunc(tagAttributes, func(known string) bool { return classad.EqualFold(known, name) })
}
