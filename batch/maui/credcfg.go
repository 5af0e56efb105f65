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

// attribute takes in what is not a throttling limit.
func (p *parser) attribute(into *Credential, key, value string) bool {
	floats := map[string]*float64{
		"PRIORITY": &into.Priority, "QTWEIGHT": &into.QueueTime, "XFWEIGHT": &into.XFactor, "XFTARGET": &into.XFTarget,
	}
	counts := map[string]*int64{"MAX.NODE": &into.MaxNodes, "MAX.PROC": &into.MaxTasks}
	times := map[string]*int64{"MAX.WCLIMIT": &into.MaxLimit, "MIN.WCLIMIT": &into.MinLimit}
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
		into.QOSList = separated(value)
	case key == "QDEF":
		into.QOSDefault = value
	case key == "ADEF":
		into.Account = value
	case key == "QFLAGS" || key == "FLAGS":
		into.Flags = separated(strings.ToUpper(value))
	case key == "FSTARGET":
		p.target(into, value)
	default:
		return false
	}
	return true
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
	if cut, ok := strings.CutPrefix(key, "OMAX"); ok {
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
