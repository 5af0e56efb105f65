package broker

import (
	"slices"
	"strings"

	"gridbroker/glue"
	"gridbroker/jdl"
)

// access applies the published rules: VO:name, VOMS:fqan, DENY:fqan, ALL, a
// certificate's subject. A resource that describes itself and names no rule
// lets its own users in; for others that is a value not published.
func (r *Rules) access(job *jdl.Job, res *glue.Resource) *Reason {
	if len(res.Access) == 0 {
		if res.Schema == "self" {
			return nil
		}
		return r.missing(wanted(r.who(job)), "access rules")
	}
	who := r.who(job)
	denied, by, let := who.judged(res.Access)
	switch {
	case denied != "":
		return &Reason{Want: named(denied), Have: named(by)}
	case let:
		return nil
	}
	return &Reason{Want: wanted(who), Have: Fact{Kind: Listed, Names: res.Access}, Unknown: who.VO == "" && len(who.FQANs) == 0}
}

// letsIn is access without the reason: most are never asked for one.
func letsIn(r *Rules) func(*jdl.Job, *glue.Resource) bool {
	return func(job *jdl.Job, res *glue.Resource) bool {
		if len(res.Access) == 0 {
			return r.access(job, res) == nil
		}
		denied, _, let := r.who(job).judged(res.Access)
		return denied == "" && let
	}
}

// judged is what rules say of the identity: what of it is denied and by which rule, and
// whether it is let in.
func (who Identity) judged(rules []string) (denied, by string, let bool) {
	for _, rule := range rules {
		scheme, value, ok := strings.Cut(rule, ":")
		switch {
		case ok && strings.EqualFold(scheme, "DENY"):
			if denied := who.denied(value); denied != "" {
				return denied, rule, false
			}
		default:
			let = let || who.let(rule)
		}
	}
	return "", "", let
}

// view leaves a share as a whole to those who have no view of their own of it:
// the queue would be counted twice, and with numbers that are not for them.
func (r *Rules) view(job *jdl.Job, res *glue.Resource) *Reason {
	if len(res.Views) == 0 {
		return nil
	}
	who := r.who(job)
	for _, vo := range res.Views {
		if who.inVO(vo) {
			return &Reason{Want: Fact{Kind: MemberOf, Name: vo}, Have: Fact{Kind: AnotherView}}
		}
	}
	return nil
}

// who is the identity as the job has it: its own word on the VO says as whose
// member it runs, and then the credential's attributes of that VO count alone.
func (r *Rules) who(job *jdl.Job) Identity {
	who := r.Identity
	if job.VO == "" {
		return who
	}
	who.VO, who.FQANs = job.VO, nil
	for _, f := range r.Identity.FQANs {
		if strings.EqualFold(voOf(f), job.VO) {
			who.FQANs = append(who.FQANs, f)
		}
	}
	return who
}

// attributes are the FQANs rules are compared with: the credential's, or those
// of a plain member of the VO.
func (who Identity) attributes() []string {
	if len(who.FQANs) == 0 && who.VO != "" {
		return []string{"/" + who.VO}
	}
	return who.FQANs
}

// voOf is the VO of an FQAN.
func voOf(fqan string) string {
	vo, _, _ := strings.Cut(strings.TrimPrefix(fqan, "/"), "/")
	return vo
}

// Lacks tells of a credential that has attributes, but none of the VO the job
// names: sites that look at attributes will not let the job in.
func (r Rules) Lacks(job *jdl.Job) bool {
	return len(r.Identity.FQANs) > 0 && job.VO != "" && len(r.who(job).FQANs) == 0
}

// wanted says who wants in.
func wanted(who Identity) Fact {
	switch {
	case len(who.FQANs) > 0:
		return Fact{Kind: HolderOf, Names: who.FQANs}
	case who.VO != "":
		return Fact{Kind: MemberOf, Name: who.VO}
	}
	return Fact{Kind: WithoutVO}
}

// let tells whether a rule other than DENY lets the identity in.
func (who Identity) let(rule string) bool {
	scheme, value, ok := strings.Cut(rule, ":")
	switch {
	case strings.EqualFold(rule, "ALL"), rule == "*":
		return true
	case ok && strings.EqualFold(scheme, "VO"):
		return who.inVO(value)
	case ok && strings.EqualFold(scheme, "VOMS"):
		return who.match(value) != ""
	case strings.HasPrefix(rule, "/"):
		return rule == who.Subject || who.match(rule) != ""
	}
	return who.inVO(rule)
}

// denied is what of the identity a DENY rule is about: an FQAN, as DENY:/vo/x
// and DENY:VOMS:/vo/x, a VO, as DENY:VO:vo, or a certificate's subject; "" for
// nothing.
func (who Identity) denied(rule string) string {
	scheme, value, ok := strings.Cut(rule, ":")
	switch {
	case ok && strings.EqualFold(scheme, "VOMS"):
		return who.match(value)
	case ok && strings.EqualFold(scheme, "VO"):
		if who.inVO(value) {
			return "VO:" + value
		}
		return ""
	case rule == who.Subject:
		return rule
	}
	return who.match(rule)
}

// inVO compares VO names without case: GLUE 1.3 does, and both spellings of
// one VO are published in GLUE 2.0.
func (who Identity) inVO(vo string) bool {
	if who.VO != "" && strings.EqualFold(vo, who.VO) {
		return true
	}
	return slices.ContainsFunc(who.FQANs, func(f string) bool { return strings.EqualFold(voOf(f), vo) })
}

// match returns the FQAN of the identity that a rule's FQAN covers, or "".
func (who Identity) match(acl string) string {
	for _, f := range who.attributes() {
		if matchFQAN(acl, f) {
			return f
		}
	}
	return ""
}

// matchFQAN covers an FQAN by one of an access rule as the gLite broker does:
// in the rule * stands for any text, the group must be covered whole, a role
// is absent in both (or NULL), or covered; capabilities do not count.
func matchFQAN(acl, fqan string) bool {
	aclGroup, aclRole := splitFQAN(acl)
	group, role := splitFQAN(fqan)
	return glob(aclGroup, group) && glob(aclRole, role)
}

// splitFQAN cuts /vo/group/Role=x/Capability=y into group and role; no role
// is "NULL".
func splitFQAN(fqan string) (group, role string) {
	role = "NULL"
	parts := strings.Split(fqan, "/")
	var groups []string
	for _, p := range parts {
		name, value, ok := strings.Cut(p, "=")
		switch {
		case ok && strings.EqualFold(name, "Role"):
			role = value
		case ok && strings.EqualFold(name, "Capability"):
		default:
			groups = append(groups, p)
		}
	}
	return strings.Join(groups, "/"), role
}

// glob matches text against a pattern in which * is any text, in linear time
// but for the number of stars.
func glob(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	if !strings.HasPrefix(text, parts[0]) {
		return false
	}
	text = text[len(parts[0]):]
	last := parts[len(parts)-1]
	for _, p := range parts[1 : len(parts)-1] {
		_, after, ok := strings.Cut(text, p)
		if !ok {
			return false
		}
		text = after
	}
	return strings.HasSuffix(text, last)
}
