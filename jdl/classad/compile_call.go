package classad

// call compiles a call: the common ones over a column to a test, other strict
// functions to a call with values, the rest to the reference evaluator.
func call(c *compiler, e *Call) code {
	f := e.fn
	if f == nil {
		f = functions[Fold(e.Name)]
	}
	switch {
	case f == nil || len(e.Args) < f.min || len(e.Args) > f.max:
		return fixedCode(ErrorValue(), one)
	case f.name == "ifThenElse":
		return c.cond(e.Args[0], e.Args[1], e.Args[2])
	case f.strict == nil || len(e.Args) > 4:
		return c.fallback(e)
	}
	args := make([]code, len(e.Args))
	fixed, cost := !f.impure, one
	for i, a := range e.Args {
		args[i] = c.expr(a)
		fixed = fixed && args[i].fixed
		cost = cost.add(args[i].cost)
	}
	if k, ok := c.overColumn(f, args, cost); ok {
		return k
	}
	if fixed {
		return fold(c, f, args, cost)
	}
	if k, ok := kindTests[f.name]; ok {
		return kindCode(k, args[0], cost)
	}
	p, vs := c.p, make([]Value, len(args))
	return code{cost: cost.more(20), value: func(r int32) Value {
		for i := range args {
			vs[i] = args[i].eval(r)
		}
		return f.strict(p.ev, vs)
	}}
}

// fold calls a function of constants once. The work it did is its cost.
func fold(c *compiler, f *function, args []code, cost effort) code {
	vs := make([]Value, len(args))
	for i := range args {
		vs[i] = args[i].known
	}
	c.p.ev.reset()
	v := f.strict(c.p.ev, vs)
	c.over = c.over || c.p.ev.over || c.p.ev.bytes > maxBytes/1000
	return fixedCode(v, cost.add(effort{c.p.ev.steps, c.p.ev.steps}))
}

// overColumn compiles member(constant, column) and regexp(constant, column).
func (c *compiler) overColumn(f *function, args []code, cost effort) (code, bool) {
	switch {
	case len(args) < 2 || args[1].col == nil || !args[0].fixed || args[0].known.kind != String:
		return code{}, false
	case f.name == "member":
		return c.memberOf(args[0].known.str, args[1], cost), true
	case f.name == "regexp" && (len(args) == 2 || args[2].fixed && args[2].known.kind == String):
		opts := ""
		if len(args) == 3 {
			opts = args[2].known.str
		}
		return c.regexpOn(args[0].known.str, opts, args[1], cost)
	}
	return code{}, false
}

// memberOf is member("text", column).
func (c *compiler) memberOf(text string, arg code, cost effort) code {
	col, p := arg.col, c.p
	_, want := c.p.table.id(text)
	if want == 0 {
		want = ^uint32(0) // in no list of the table
	}
	x := StringValue(text)
	return code{cost: cost.more(10), test: func(r int32) truth3 {
		switch col.kinds[r] {
		case List:
			return truthOf(col.has(int(r), want))
		case Undefined:
			return isUndefined
		case dynamic:
			return member(p.ev, []Value{x, arg.eval(r)}).truth3()
		}
		return isError
	}}
}

// regexpOn is regexp("pattern", column). Where texts repeat, what the pattern
// says of one is kept.
func (c *compiler) regexpOn(text, opts string, arg code, cost effort) (code, bool) {
	re, err := c.p.ev.pattern(text, opts)
	if err != nil {
		return code{}, false
	}
	col, p := arg.col, c.p
	match := func(s string) truth3 {
		ok, err := p.ev.match(re, s)
		return matched(ok, err).truth3()
	}
	onText := func(r int32) truth3 { return match(col.str[r]) }
	if 2*col.distinct < len(col.kinds) {
		onText = kept(col, func(r int32) truth3 { return match(col.str[r]) })
	}
	vs := [2]Value{StringValue(text)}
	return code{cost: cost.more(35), test: func(r int32) truth3 {
		switch col.kinds[r] {
		case String:
			return onText(r)
		case Undefined:
			return isUndefined
		case dynamic:
			args := []Value{vs[0], arg.eval(r), StringValue(opts)}
			return regexpSearch(p.ev, args).truth3()
		}
		return isError
	}}, true
}

// kept remembers the verdict on each distinct text of a column.
func kept(col *column, f func(r int32) truth3) func(r int32) truth3 {
	var verdicts []truth3 // by number of the text, 0 for not known yet, else one more
	return func(r int32) truth3 {
		id := col.exact[r]
		if int(id) >= len(verdicts) {
			verdicts = append(verdicts, make([]truth3, int(id)+1-len(verdicts))...)
		}
		if v := verdicts[id]; v != 0 {
			return v - 1
		}
		t := f(r)
		verdicts[id] = t + 1
		return t
	}
}
