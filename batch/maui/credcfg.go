package maui

import (
	"slices"
	"strings"
)

// credential takes in USERCFG[x], GROUPCFG[x], ACCOUNTCFG[x], CLASSCFG[x] and
// QOSCFG[x].
func (p *parser) credential(name, index string, values []string) bool {
	c := p.c
	of := map[string]Credentials{
		"USERCFG": c.Users, "GROUPCFG": c.Groups, "ACCOUNTCFG": c.Accounts, "CLASSCFG": c.Classes, "QOSCFG": c.QOS,
	}[name]
	if name == "SYSCFG" {
		p.system(values)
		return true
	}
	if of == nil {
		return false
	}
	if index == "" {
		p.fail(name, "", "a name in brackets")
		return true
	}
	into := of.of(index)
	for _, v := range values {
		key, value, ok := strings.Cut(v, "=")
		if key = strings.ToUpper(key); !ok {
			p.fail(name+"["+index+"]", v, "ATTRIBUTE=VALUE")
		} else if !p.attribute(into, key, value) && !p.limit(into, key, value) {
			p.warn(name+"["+index+"] "+key, "not modelled")
		}
	}
	return true
}

// system takes in SYSCFG.
func (p *parser) system(values []string) {
	for _, v := range values {
		key, value, _ := strings.Cut(v, "=")
		switch key = strings.ToUpper(key); key {
		case "QLIST", "QDEF":
			p.attribute(&p.c.System, key, value)
		default:
			p.warn("SYSCFG "+key, "not modelled")
		}
	}
}

// attribute takes in what is not a throttling limit.
func (p *parser) attribute(into *Credential, key, value string) bool {
	floats := map[string]*float64{
		"PRIORITY": &into.Priority, "QTWEIGHT": &into.QueueTime, "XFWEIGHT": &into.XFactor, "XFTARGET": &into.XFTarget,
	}
	counts := map[string]*int64{"MAX.NODE": &into.MaxNodes, "MAX.PROC": &into.MaxTasks, "MIN.NODE": &into.MinNodes, "MIN.PROC": &into.MinTasks}
	times := map[string]*int64{"MAX.WCLIMIT": &into.MaxLimit, "MIN.WCLIMIT": &into.MinLimit, "DEFAULT.WCLIMIT": &into.Limit}
	switch {
	case floats[key] != nil:
		*floats[key] = p.float(key, value)
	case counts[key] != nil:
		*counts[key] = p.count(key, value)
	case times[key] != nil:
		*times[key] = p.time(key, value)
	case key == "QTTARGET":
		into.QTTarget = float64(p.time(key, value))
	case key == "QLIST":
		if i := strings.IndexAny(value, "&^"); i >= 0 {
			into.QOSMode, value = value[i], strings.Map(unmarked, value)
		}
		into.QOSList = separated(value)
	case key == "DEFAULT.FEATURES":
		into.Features = separated(value)
	case key == "QDEF":
		into.QOSDefault = value
	case key == "ADEF":
		into.Account = value
	case key == "QFLAGS" || key == "FLAGS":
		into.Flags = separated(strings.ToUpper(value))
		into.ignore()
	case key == "FSTARGET":
		p.target(into, value)
	default:
		return false
	}
	return true
}

// unmarked takes the marks of a QLIST out.
func unmarked(r rune) rune {
	if r == '&' || r == '^' {
		return -1
	}
	return r
}

// noLimit overrides a limit with none.
const noLimit = -1

// ignore lets the flags of a QOS override limits of its users.
func (c *Credential) ignore() {
	lift := func(l *Limits, kinds ...int) {
		for _, k := range kinds {
			l.Soft[k], l.Hard[k] = noLimit, noLimit
		}
	}
	for _, f := range c.Flags {
		switch f {
		case "IGNJOBPERUSER":
			lift(&c.Override, limitJobs)
		case "IGNPROCPERUSER", "IGNNODEPERUSER", "IGNMAXPROC":
			lift(&c.Override, limitProcs, limitNodes)
		case "IGNPSPERUSER", "IGNMAXPS":
			lift(&c.Override, limitPS)
		case "IGNJOBQUEUEDPERUSER":
			lift(&c.OverIdle, limitJobs)
		case "IGNUSER", "IGNALL":
			lift(&c.Override, limitJobs, limitProcs, limitNodes, limitPS)
			lift(&c.OverIdle, limitJobs)
		}
	}
}

// ignores tells whether a QOS has one of some flags.
func (c *Credential) ignores(flags ...string) bool {
	return slices.ContainsFunc(c.Flags, func(f string) bool { return slices.Contains(flags, f) })
}

// target reads FSTARGET: a percentage and a mode behind it.
func (p *parser) target(into *Credential, value string) {
	if n := len(value); n > 0 && strings.ContainsRune("+-^%", rune(value[n-1])) {
		into.TargetMode, value = value[n-1], value[:n-1]
	}
	into.Target = p.float("FSTARGET", value)
}

// separated parts a list by commas, colons or bars.
func separated(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ':' || r == '|' })
}

// limit takes in MAXJOB=SOFT[,HARD] and the like, MAXIJOB for waiting jobs,
// OMAXJOB for what a QOS overrides.
func (p *parser) limit(into *Credential, key, value string) bool {
	kinds := []string{"JOB", "PROC", "NODE", "PS", "PE", "WC"}
	limits, rest := &into.Active, key
	if cut, ok := strings.CutPrefix(key, "OMAXI"); ok {
		limits, rest = &into.OverIdle, cut
	} else if cut, ok := strings.CutPrefix(key, "OMAX"); ok {
		limits, rest = &into.Override, cut
	} else if cut, ok := strings.CutPrefix(key, "MAXI"); ok {
		limits, rest = &into.Idle, cut
	} else if cut, ok := strings.CutPrefix(key, "MAX"); ok {
		rest = cut
	}
	kind := slices.Index(kinds, rest)
	if kind < 0 || rest == key {
		return false
	}
	soft, hard, two := strings.Cut(value, ",")
	if !two {
		hard = soft
	}
	limits.Soft[kind], limits.Hard[kind] = p.amount(key, soft), p.amount(key, hard)
	return true
}

// amount is a count, or a time in MAXWC and MAXPS.
func (p *parser) amount(key, value string) int64 {
	if strings.HasSuffix(key, "WC") || strings.Contains(value, ":") {
		return p.time(key, value)
	}
	return p.count(key, value)
}

// node takes in NODECFG[x].
func (p *parser) node(name string, values []string) {
	n := p.c.Nodes[name]
	for _, v := range values {
		key, value, _ := strings.Cut(v, "=")
		switch key = strings.ToUpper(key); key {
		case "PARTITION":
			n.Partition = value
		case "FEATURES":
			n.Features = append(n.Features, separated(value)...)
		case "SPEED":
			n.Speed = p.float(key, value)
		case "PRIORITY":
			n.Priority = p.float(key, value)
		case "MAXJOB":
			n.MaxJobs = int(p.count(key, value))
		default:
			p.warn("NODECFG["+name+"] "+key, "not modelled")
		}
	}
	p.c.Nodes[name] = n
}

// standing takes in SRCFG[x].
func (p *parser) standing(name string, values []string) {
	i := slices.IndexFunc(p.c.Standing, func(s Standing) bool { return s.Name == name })
	if i < 0 {
		i = len(p.c.Standing)
		p.c.Standing = append(p.c.Standing, Standing{Name: name})
	}
	s := &p.c.Standing[i]
	for _, v := range values {
		key, value, _ := strings.Cut(v, "=")
		list := map[string]*[]string{
			"HOSTLIST": &s.Hosts, "USERLIST": &s.Users, "GROUPLIST": &s.Groups, "ACCOUNTLIST": &s.Accounts, "CLASSLIST": &s.Classes, "QOSLIST": &s.QOSes,
		}[strings.ToUpper(key)]
		switch {
		case list != nil:
			*list = append(*list, separated(value)...)
		case strings.EqualFold(v, "PERIOD=INFINITY"):
		default:
			p.warn("SRCFG["+name+"] "+key, "not modelled")
		}
	}
}
