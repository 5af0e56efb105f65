####################
#
# Example: Simple condor submit description file
#
####################
Executable     = run.sh
Input          = data.txt
Output         = foo.out
Error          = foo.err
Log            = foo.log
Arguments      = 15 2000 "quoted"
Requirements   = Memory >= 32 && OpSys == "LINUX" && Arch =="X86_64"
Rank           = Memory >= 64
Image_Size     = 28 Meg
Queue 2
