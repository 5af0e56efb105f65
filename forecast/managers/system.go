package managers

// system is a manager's own computing system; at a domain there is none.
type system struct {
	there bool
	total Resources
	free  Resources
	drain Key // the aged job that it is drained for
}

// room says whether a job can start here now.
func (s *system) room(j *Job) bool { return s.there && s.free.Has(&j.Need) && !s.held(j) }

// could says whether a job could run here, were the system empty.
func (s *system) could(need *Resources) bool { return s.there && s.total.Has(need) }

// held says whether the system is kept for another, older job.
func (s *system) held(j *Job) bool { return s.drain != Key{} && s.drain != j.Key() }

// offers says whether neighbours are told of what is free: not while it is drained.
func (s *system) offers() bool { return s.there && s.drain == Key{} && s.free.CPUs > 0 }

// start takes a job's resources.
func (s *system) start(j *Job) { s.free = s.free.Less(j.Need) }

// undrain ends the draining for a job. It says whether it was drained for this one.
func (s *system) undrain(job Key) bool {
	if s.drain != job || job == (Key{}) {
		return false
	}
	s.drain = Key{}
	return true
}
