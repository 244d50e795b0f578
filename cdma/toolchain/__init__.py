"""Every external tool that the package runs, each called from one module, and the cache they share.

==============  ====================================================================================
``tool``        what a tool is, and one run of one on files that are given and collected as text
``yowasp``      Yosys and nextpnr as Python packages
``opensta``     OpenSTA
``icarus``      Icarus Verilog
``verilator``   Verilator and the C++ compiler behind it
``slang``       slang
``simulators``  cocotb's runner: builds and runs of Verilator and Icarus Verilog under a test bench
``cache``       the folder of builds and results, safe for many processes at a time
``steps``       results of tools, kept by what went into them
==============  ====================================================================================
"""
