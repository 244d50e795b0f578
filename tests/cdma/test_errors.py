"""Errors of the user are reported in one line."""

import math
import sys

import pytest

from cdma.errors import MissingPackageError, UserError, refusals_as_user_errors, require


def test_require_gives_the_module():
    assert require("math", extra="none", verb="cdma test") is math


def test_require_names_the_package_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.delitem(sys.modules, "sklearn.datasets", raising=False)
    message = r"^cdma capture needs scikit-learn: pip install 'cdma-engine\[capture\]'$"
    with pytest.raises(MissingPackageError, match=message):
        require("sklearn.datasets", extra="capture", verb="cdma capture")


def test_require_names_a_package_called_like_its_module():
    message = r"^cdma test needs no_such_module: pip install 'cdma-engine\[sim\]'$"
    with pytest.raises(MissingPackageError, match=message):
        require("no_such_module", extra="sim", verb="cdma test")


def test_require_does_not_hide_what_a_package_lacks_itself(tmp_path, monkeypatch):
    (tmp_path / "incomplete_module.py").write_text("import what_it_lacks\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="what_it_lacks"):
        require("incomplete_module", extra="sim", verb="cdma test")


@pytest.mark.parametrize("error", [TypeError, ValueError])
def test_refusals_become_user_errors(error):
    with pytest.raises(UserError, match=r"^Number must be one, not 2$"), refusals_as_user_errors():
        raise error("Number must be one, not 2")


def test_other_faults_stay_as_they_are():
    with pytest.raises(ZeroDivisionError), refusals_as_user_errors():
        raise ZeroDivisionError
