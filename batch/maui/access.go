package maui

import "slices"

// access is what one kind of credential says of QOS: its own, and what is
// configured of DEFAULT.
type access struct{ own, base *Credential }

// setQOS finds the QOS of a job and whether it may use the one it asks for.
func (r *cluster) setQOS(j *job) bool {
	c := r.Config
	list := [...]access{ // in the order in which they choose
		{c.Users.find(j.User), c.Users.find("DEFAULT")}, {c.Groups.find(j.Group), c.Groups.find("DEFAULT")},
		{&noCredential, c.Accounts.find("DEFAULT")}, {&noCredential, c.Classes.find("DEFAULT")},
	}
	if j.Account != "" {
		list[2].own = c.Accounts.find(j.Account)
	}
	if j.Class != "" {
		list[3].own = c.Classes.find(j.Class)
	}
	allowed := c.allowed(list[:])
	j.qosName = c.byDefault(list[:], allowed)
	ok := j.QOS == "" || slices.Contains(allowed, j.QOS)
	if ok && j.QOS != "" {
		j.qosName = j.QOS
	}
	j.qos = c.QOS.find(j.qosName)
	return ok
}

// allowed lists the QOS that a job may use: what one QLIST marked ^ says alone;
// else what is in all that are marked &; else what any of them says, and DEFAULT.
func (c *Config) allowed(list []access) []string {
	all := append([]string{"DEFAULT"}, c.System.QOSList...)
	for _, a := range list {
		switch {
		case a.own.QOSMode == 0 && len(a.own.QOSList) > 0:
			all = append(all, a.own.QOSList...)
		case a.base.QOSMode == 0:
			all = append(all, a.base.QOSList...)
		}
	}
	both := false
	for _, a := range slices.Backward(list) {
		if a.own.QOSMode != '&' {
			continue
		}
		if !both {
			all, both = slices.Clone(a.own.QOSList), true
			continue
		}
		all = slices.DeleteFunc(all, func(q string) bool { return !slices.Contains(a.own.QOSList, q) })
	}
	for _, a := range list {
		if a.own.QOSMode == '^' {
			return a.own.QOSList
		}
	}
	return all
}

// byDefault is the QOS of a job that asks for none: the first QDEF that is
// allowed, else the first QOS that is.
func (c *Config) byDefault(list []access, allowed []string) string {
	for _, a := range list {
		for _, name := range [...]string{a.own.QOSDefault, a.base.QOSDefault} {
			if name != "" && name != "DEFAULT" && slices.Contains(allowed, name) {
				return name
			}
		}
	}
	switch {
	case c.System.QOSDefault != "" && slices.Contains(allowed, c.System.QOSDefault):
		return c.System.QOSDefault
	case slices.Contains(allowed, "DEFAULT") || len(allowed) == 0:
		return "DEFAULT"
	}
	return allowed[0]
}
