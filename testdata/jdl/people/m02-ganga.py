j = Job(name='x')
j.application = Executable(exe=File('run.sh'))
j.backend = Dirac()
j.submit()
