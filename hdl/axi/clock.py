"""The clock domain of components that have clock and reset as ports."""

from amaranth.hdl import ClockDomain, DomainRenamer, Module, Signal

_NAME = "axi"


def own_domain(m: Module, clock: Signal, reset_n: Signal) -> DomainRenamer:
    """Give a module a clock domain of its ports, which only the module and those below it see.

    So the component can stand in a design with any other domains, and more than once.

    Parameters
    ----------
    m : Module
    clock, reset_n : Signal
        Ports ``aclk`` and ``aresetn``.

    Returns
    -------
    DomainRenamer
        Puts a component that is written for the domain ``sync`` into this one.
    """
    domain = ClockDomain(_NAME, local=True)
    domain.clk, domain.rst = clock, Signal(name="rst")
    m.domains += domain
    m.d.comb += domain.rst.eq(~reset_n)
    return DomainRenamer(_NAME)
