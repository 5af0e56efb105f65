package managers

// dispatch finds jobs their places: it assigns the own system's resources and
// asks neighbours for theirs, by the rules and the tables.
type dispatch struct {
	rules  Rules
	tables tables
	out    Out
}

// place finds a job a place, if there is one, and says whether the job has gone.
func (d *dispatch) place(j *Job) bool {
	if d.rules.ForwardAll && j.from == Here {
		if n := d.tables.parent(); n != Here {
			d.send(n, j)
			return true
		}
	}
	if d.tables.own.room(j) {
		d.start(j)
		return true
	}
	if d.rules.ForwardAll {
		return false
	}
	if j.Placed {
		return d.walk(j)
	}
	if d.pools() {
		if n := d.tables.parent(); n != Here {
			d.send(n, j)
			return true
		}
	}
	if d.bound(j) {
		return !d.rules.StayAtBound && d.settle(j)
	}
	return d.ask(j)
}

// ask sends a job towards a row that fits and marks that row.
func (d *dispatch) ask(j *Job) bool {
	n, _ := d.tables.choose(j, d.rules.Worst)
	if n == Here {
		return false
	}
	if d.rules.Mark != MarkNone {
		d.tables.links[n].take(&j.Need)
	}
	d.send(n, j)
	return true
}

// settle sends a job that has gone far, or waited long, to a system that could
// run it when empty, to wait there. It says whether the job has left.
func (d *dispatch) settle(j *Job) bool {
	j.Placed = true
	return d.walk(j)
}

// walk moves a placed job one step towards a system that could run it.
func (d *dispatch) walk(j *Job) bool {
	if d.tables.own.could(&j.Need) {
		return false
	}
	n := d.tables.towards(j)
	if n == Here {
		return false
	}
	d.send(n, j)
	return true
}

func (d *dispatch) start(j *Job) {
	d.tables.own.start(j)
	if d.tables.own.undrain(j.Key()) {
		d.tables.better = true
	}
	d.out.Starts = append(d.out.Starts, Assignment{Job: *j})
}

func (d *dispatch) send(n Neighbour, j *Job) {
	d.tables.links[n].count(&j.Need, d.rules.Mark == MarkAck && !j.Placed)
	out := *j
	out.Hops = min(out.Hops+1, maxHops)
	out.from, out.block = Here, false
	d.out.Sends = append(d.out.Sends, Send{To: n, Message: Message{Job: &out}})
}

// pools says whether waiting jobs are handed over to the domain above.
func (d *dispatch) pools() bool { return d.rules.Pool && d.tables.own.there }

// pooledHops is the bound of hops where jobs wait at the domain above and the
// rules name none: a system that stands above systems would be sent a job by one
// that has no room for it, and send it back, for ever.
const pooledHops = 100

// bound says whether a job has gone as far as it may.
func (d *dispatch) bound(j *Job) bool {
	most := d.rules.MaxHops
	if most == 0 && d.rules.Pool {
		most = pooledHops
	}
	return most > 0 && j.Hops >= most
}

// stays says whether a job has gone as far as it may and is to stay where it is.
func (d *dispatch) stays(j *Job) bool { return d.rules.StayAtBound && d.bound(j) }

// fits says whether some neighbour's row has room for a job.
func (d *dispatch) fits(j *Job) bool {
	n, _ := d.tables.choose(j, d.rules.Worst)
	return n != Here
}

// triedInVain says whether a job that was not placed tells that there is no
// room for others like it: nothing but want of room kept it.
func (d *dispatch) triedInVain(j *Job) bool {
	return !j.Placed && !j.block && !d.bound(j) && !d.tables.own.held(j)
}
