package credential

// Verify checks what was found against the trusted authorities and vomsdir,
// as a server would, and adds findings. VOMS attributes that vomsdir says
// nothing about are a note: users need no vomsdir, servers do.
func (s *Set) Verify(vomsDir string) {
	if s.X509 == nil || s.Trust == nil {
		return
	}
	if err := s.Trust.Verify(s.X509); err != nil {
		f := asFinding(err)
		said := f.ID == "x509.proxy" && (s.has("x509.expired") || s.has("x509.not-yet-valid"))
		if !s.has(f.ID) && !said {
			s.Findings = append(s.Findings, *f)
		}
	}
	if err := s.Trust.VerifyACs(s.X509, vomsDir); err != nil {
		f := asFinding(err)
		if f.ID == "voms.no-lsc" {
			f.Severity, f.What, f.Mend = Note, "the VOMS attributes could not be checked", ""
		}
		if !s.has(f.ID) {
			s.Findings = append(s.Findings, *f)
		}
	}
}

func (s *Set) has(id string) bool {
	for _, f := range s.Findings {
		if f.ID == id {
			return true
		}
	}
	return false
}
